"""Jars: all cached, with the pinned checksums."""

from __future__ import annotations

from anabranch.doctor.finding import DoctorFinding, green, red, yellow


def artifacts() -> DoctorFinding:
    from anabranch.adapters.jvm.artifacts import ArtifactCache, bundles, locked

    cache = ArtifactCache()
    jars = [jar for bundle in bundles() for jar in locked(bundle)]
    corrupt = cache.corrupt(jars)
    if corrupt:
        names = ", ".join(jar.filename for jar in corrupt)
        paths = " ".join(str(cache.path(jar)) for jar in corrupt)
        return red("jars", f"wrong checksum: {names}", f"rm {paths} && anabranch dev fetch")
    missing = cache.missing(jars)
    if missing:
        megabytes = sum(jar.size for jar in missing) / 1e6
        return yellow(
            "jars", f"{len(missing)} of {len(jars)} not downloaded yet ({megabytes:.0f} MB)", "anabranch dev fetch"
        )
    return green("jars", f"all {len(jars)} cached, checksums verified")
