"""Spack: `make dist` writes this file with the hash of its archive into target/dist/recipes. Put it into packages/hotlink/ of a repository."""

from spack.package import *


class Hotlink(PythonPackage):
    """How fast is a cluster's interconnect, how fast should it be, what holds it back, and what does it cost."""

    license("Apache-2.0 OR MIT")
    # The source archive of `make dist`, which holds every crate: no network is needed.
    version("0.1.0", sha256="0000000000000000000000000000000000000000000000000000000000000000", url="file:///path/to/hotlink-0.1.0.tar.xz")

    variant("plot", default=True, description="Plots with matplotlib")

    depends_on("c", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-maturin@1.9:1", type="build")
    depends_on("rust@1.90:", type="build")
    depends_on("py-matplotlib@3.8:", type="run", when="+plot")

    import_modules = ["hotlink"]
