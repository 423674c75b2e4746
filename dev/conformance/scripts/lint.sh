#!/usr/bin/env bash
# The RUSTC_WORKSPACE_WRAPPER of `cargo xtask test`: clippy's driver, which is the compiler with more lints; they are a
# sixth of its time. A library with unit tests is linted when these are compiled, and not again for what uses it; a
# house rule has it that tests leave no code out. What is for another target was linted for this one. By bash: sh loses
# variables whose names it cannot set, as CARGO_BIN_EXE_pgas-microbench.
case " $* " in
*" --target "*) exec "$@" ;;
*" --test "*) ;;
*" --crate-type lib "* | *" --crate-type proc-macro "*)
    grep -qx 'test = false' "$CARGO_MANIFEST_DIR/Cargo.toml" || exec "$@"
    ;;
esac
exec clippy-driver "$@"
