# Spack: copy this file to packages/ferroshmem/package.py of a repository of yours (spack repo create), then
# spack install ferroshmem.

from spack.package import *


class Ferroshmem(Package):
    """OpenSHMEM 1.6 for many-core nodes, written in Rust: a put to a PE on the same node is a store in the calling
    program, PEs of other nodes are reached through libfabric."""

    homepage = "https://github.com/ferroshmem/ferroshmem"
    git = "https://github.com/ferroshmem/ferroshmem.git"

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    variant("fabric", default=True, description="Reach PEs of other nodes through libfabric")
    variant("debug", default=False, description="Build without optimisation, with debugging information")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    # Opened at run time, and only by jobs of several nodes.
    depends_on("libfabric@1.17:", type="run", when="+fabric")

    conflicts("platform=darwin", msg="FerroSHMEM runs on Linux")

    def install(self, spec, prefix):
        # Cargo fetches the crates that Cargo.lock names: builds without a network need them in its cache.
        arguments = ["xtask", "install", "--prefix", str(prefix)]
        if spec.satisfies("+debug"):
            arguments.append("--debug")
        Executable("cargo")(*arguments)

    def setup_run_environment(self, env):
        # dlopen looks where the loader is told to.
        if self.spec.satisfies("+fabric"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec["libfabric"].prefix.lib)

    def setup_dependent_build_environment(self, env, dependent_spec):
        # Spack's wrappers of the compilers that the dependent asks for.
        for language in ("cc", "cxx", "fc"):
            wrapper = getattr(dependent_spec.package.module, f"spack_{language}", None)
            if wrapper:
                env.set(f"OSHMEM_{language.upper()}", wrapper)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        """Compiles and runs an example on two PEs."""
        program = join_path(self.stage.path, "hello")
        source = join_path(self.stage.source_path, "examples", "hello.c")
        Executable(self.prefix.bin.oshcc)("-O2", source, "-o", program)
        Executable(self.prefix.bin.oshrun)("-n", "2", program)
