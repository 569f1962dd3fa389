"""What outlives a cluster: the bucket for data and models, and the image registry."""

import pulumi
from pulumi_aws import ecr, s3

from modelyard.stack.aws import Aws
from modelyard.workloads.remote.aws_rights import document

OLD_VERSIONS = 30
"""Days for which a replaced or deleted object can be restored."""
UNFINISHED = 7
"""Days after which parts of an unfinished upload are removed; they cost money and are not visible."""


def bucket(name: str, aws: Aws, inside: pulumi.ResourceOptions) -> s3.Bucket:
    """The bucket: private, encrypted, versioned, over TLS only; a delete of the stack leaves it and what it holds."""
    kept = pulumi.ResourceOptions(parent=inside.parent, retain_on_delete=True)
    made = s3.Bucket(f"{name}-bucket", bucket=bucket_name(aws), force_destroy=False, tags=dict(aws.tags), opts=kept)
    s3.BucketPublicAccessBlock(
        f"{name}-private",
        bucket=made.id,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=kept,
    )
    s3.BucketOwnershipControls(
        f"{name}-owner",
        bucket=made.id,
        rule=s3.BucketOwnershipControlsRuleArgs(object_ownership="BucketOwnerEnforced"),
        opts=kept,
    )
    s3.BucketServerSideEncryptionConfiguration(
        f"{name}-encrypted",
        bucket=made.id,
        rules=[
            s3.BucketServerSideEncryptionConfigurationRuleArgs(
                apply_server_side_encryption_by_default=s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
                    sse_algorithm="AES256"
                )
            )
        ],
        opts=kept,
    )
    s3.BucketVersioning(
        f"{name}-versions",
        bucket=made.id,
        versioning_configuration=s3.BucketVersioningVersioningConfigurationArgs(status="Enabled"),
        opts=kept,
    )
    s3.BucketLifecycleConfiguration(
        f"{name}-lifecycle",
        bucket=made.id,
        rules=[
            s3.BucketLifecycleConfigurationRuleArgs(
                id="what-nobody-sees",
                status="Enabled",
                filter=s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=""),
                abort_incomplete_multipart_upload=s3.BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(
                    days_after_initiation=UNFINISHED
                ),
                noncurrent_version_expiration=s3.BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs(
                    noncurrent_days=OLD_VERSIONS
                ),
            )
        ],
        opts=kept,
    )
    arn = f"arn:{aws.partition}:s3:::{bucket_name(aws)}"
    s3.BucketPolicy(
        f"{name}-tls",
        bucket=made.id,
        policy=document(
            [
                {
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": "s3:*",
                    "Resource": [arn, f"{arn}/*"],
                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                }
            ]
        ),
        opts=kept,
    )
    return made


def bucket_name(aws: Aws) -> str:
    """The bucket's name, with the account and the region: bucket names are shared by all AWS customers."""
    return f"{aws.name}-{aws.account}-{aws.region}"


def repository(name: str, aws: Aws, inside: pulumi.ResourceOptions) -> ecr.Repository:
    """The registry's repository: a tag never moves, each image is scanned; a delete with images in it fails."""
    return ecr.Repository(
        f"{name}-images",
        name=aws.name,
        image_tag_mutability="IMMUTABLE",
        image_scanning_configuration=ecr.RepositoryImageScanningConfigurationArgs(scan_on_push=True),
        encryption_configurations=[ecr.RepositoryEncryptionConfigurationArgs(encryption_type="AES256")],
        force_delete=False,
        tags=dict(aws.tags),
        opts=inside,
    )
