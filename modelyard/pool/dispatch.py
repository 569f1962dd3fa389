"""In which other clusters Kueue runs work, or wants to: a Workload says it by the names of MultiKueueClusters."""

from modelyard.pool.kueue import Work


def cluster_of(work: Work) -> str | None:
    """The cluster that runs it; None: this one, or none yet."""
    found = (work.body.get("status") or {}).get("clusterName")
    return str(found) if found else None


def asked_clusters(work: Work) -> tuple[str, ...]:
    """The clusters that were asked to run it, of which none has taken it yet."""
    return tuple(map(str, (work.body.get("status") or {}).get("nominatedClusterNames") or ()))


def words_of_checks(work: Work) -> tuple[str, ...]:
    """What Kueue's admission checks say of it."""
    checks = (work.body.get("status") or {}).get("admissionChecks") or ()
    return tuple(words for check in checks if (words := str(check.get("message") or "")))
