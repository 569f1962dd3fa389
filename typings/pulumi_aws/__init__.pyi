from enum import Enum

from . import cloudwatch as cloudwatch
from . import ec2 as ec2
from . import ecr as ecr
from . import eks as eks
from . import iam as iam
from . import kms as kms
from . import s3 as s3
from . import scheduler as scheduler

class Region(str, Enum): ...
