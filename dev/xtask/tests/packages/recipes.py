"""Reads a recipe with stand-ins for the modules of Spack or EasyBuild, and prints what it says as JSON.

recipes.py spack FILE PREFIX, or recipes.py easybuild FILE. With PREFIX, the recipe's own check of an installation
is run."""

import json
import os
import subprocess
import sys
import types

kind, path = sys.argv[1:3]
with open(path) as file:
    code = compile(file.read(), path, "exec")


class Prefix(str):
    """A path whose attributes are paths below it, as prefix.bin.oshcc."""

    def __getattr__(self, name):
        return Prefix(os.path.join(self, name))


def spack():
    recipe = {key: [] for key in ("versions", "variants", "depends_on", "conflicts", "license", "commands")}

    def directive(key):
        return lambda name, **options: recipe[key].append([name, {k: str(v) for k, v in options.items()}])

    module = types.ModuleType("spack.package")
    module.Package = object
    for name, key in (("version", "versions"), ("variant", "variants"), ("depends_on", "depends_on"),
                      ("conflicts", "conflicts"), ("license", "license")):
        setattr(module, name, directive(key))
    module.run_after = module.on_package_attributes = lambda *_, **__: lambda function: function
    module.join_path = os.path.join

    def executable(program):
        def run(*arguments):
            if program == "cargo":
                recipe["commands"].append(list(arguments))
            else:
                subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)
        return run

    module.Executable = executable
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = module
    names = {}
    exec(code, names)
    package = names["Ferroshmem"]()
    asked = set()

    class Spec:
        def __init__(self, *variants):
            self.variants = variants

        def satisfies(self, variant):
            asked.add(variant.lstrip("+~"))
            return variant in self.variants

        def __getitem__(self, name):
            return types.SimpleNamespace(prefix=Prefix("/" + name))

    changes = []
    environment = types.SimpleNamespace(prepend_path=lambda *change: changes.append(change),
                                        set=lambda *change: changes.append(change))
    for spec in (Spec(), Spec("+debug", "+fabric")):
        package.spec = spec
        package.install(spec, Prefix("/prefix"))
        package.setup_run_environment(environment)
    dependent = types.SimpleNamespace(module=types.SimpleNamespace(spack_cc="gcc"))
    package.setup_dependent_build_environment(environment, types.SimpleNamespace(package=dependent))
    if len(sys.argv) > 3:
        package.prefix = Prefix(sys.argv[3])
        package.stage = types.SimpleNamespace(path=os.environ["STAGE"], source_path=os.environ["SOURCE"])
        package.check_install()
    recipe["environment"] = changes
    recipe["asked"] = sorted(asked)
    return recipe


def easybuild():
    names = {"SHLIB_EXT": "so"}
    exec(code, names)
    return {key: value for key, value in names.items() if key != "__builtins__"}


print(json.dumps(spack() if kind == "spack" else easybuild()))
