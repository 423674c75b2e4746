fn main() {
    println!("cargo::rerun-if-changed=src/kernel.c");
    cc::Build::new()
        .include(std::env::var_os("DEP_SHMEM_INCLUDE").expect("from ferroshmem-sys"))
        .file("src/kernel.c")
        .compile("kernel");
}
