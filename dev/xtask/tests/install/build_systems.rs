//! The installation as make, pkg-config and CMake find it.

use super::*;

#[test]
fn flags_work_in_a_makefile() {
    if lacks("make", "make") {
        return;
    }
    let project = project();
    let makefile = format!(
        "CC = '{}'\nmain: main.o\n\t$(CC) $^ -o $@\n%.o: %.c\n\t$(CC) -O2 -c $< -o $@\n",
        bin("oshcc").display()
    );
    fs::write(project.path().join("Makefile"), makefile).unwrap();
    succeed(command("make").current_dir(project.path()));
    assert_eq!(run(&project.path().join("main")), "sum 3\n");
}

#[test]
fn found_by_pkg_config() {
    if lacks("pkg-config", "pkg-config") {
        return;
    }
    let project = project();
    for package in ["ferroshmem", "shmem"] {
        for source in ["main.c", "root.c"] {
            for (kind, option) in [("", ""), ("-static", "--static")] {
                // Through a shell, as makefiles and configure scripts use it.
                let line = format!("eval cc {kind} {source} -o main $(pkg-config {option} --cflags --libs {package})");
                let mut shell = command("sh");
                shell.args(["-e", "-c", &line]).current_dir(project.path());
                succeed(shell.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")));
                assert_eq!(run(&project.path().join("main")), "sum 3\n", "{line}");
            }
        }
    }
}

#[test]
fn found_by_cmake() {
    if lacks("cmake", "cmake") || lacks("make", "make") || lacks("g++", "g++") {
        return;
    }
    let project = project();
    let lists = "cmake_minimum_required(VERSION 3.16)\n\
         project(user C CXX)\n\
         find_package(FerroSHMEM 0.1 REQUIRED)\n\
         add_executable(by_name main.c)\n\
         target_link_libraries(by_name FerroSHMEM::shmem)\n\
         add_library(part OBJECT main.c)\n\
         target_link_libraries(part OpenSHMEM::shmem)\n\
         add_executable(by_part $<TARGET_OBJECTS:part>)\n\
         target_link_libraries(by_part part)\n\
         add_executable(fixed main.c)\n\
         set_target_properties(fixed PROPERTIES POSITION_INDEPENDENT_CODE OFF)\n\
         target_link_libraries(fixed FerroSHMEM::shmem)\n\
         add_executable(static main.c)\n\
         target_link_libraries(static FerroSHMEM::shmem_static)\n\
         foreach(library FerroSHMEM::shmem OpenSHMEM::shmem FerroSHMEM::shmem_static)\n\
         string(MAKE_C_IDENTIFIER root_${library} name)\n\
         add_executable(${name} root.c)\n\
         target_link_libraries(${name} ${library})\n\
         endforeach()\n\
         add_executable(cxx main.cpp)\n\
         target_link_libraries(cxx FerroSHMEM::shmem)\n\
         enable_testing()\n\
         add_test(NAME launched COMMAND ${FerroSHMEM_OSHRUN} -n 2 $<TARGET_FILE:by_name>)\n";
    fs::write(project.path().join("CMakeLists.txt"), lists).unwrap();
    let cmake = || {
        let mut cmake = command("cmake");
        cmake.current_dir(project.path());
        cmake
    };
    let mut prefix_option = std::ffi::OsString::from("-DCMAKE_PREFIX_PATH=");
    prefix_option.push(prefix());
    let commands = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON";
    succeed(cmake().args(["-S", ".", "-B", "build", commands]).arg(prefix_option));
    // All but the one that must not be and the static one.
    let commands = fs::read_to_string(project.path().join("build/compile_commands.json")).unwrap();
    assert_eq!(commands.matches("-fPIE").count(), 5, "{commands}");
    succeed(cmake().args(["--build", "build"]));
    for program in [
        "by_name",
        "by_part",
        "fixed",
        "static",
        "root_FerroSHMEM__shmem",
        "root_OpenSHMEM__shmem",
        "root_FerroSHMEM__shmem_static",
    ] {
        assert_eq!(run(&project.path().join("build").join(program)), "sum 3\n", "{program}");
    }
    assert_eq!(run(&project.path().join("build/cxx")), "right\n");
    succeed(command("ctest").current_dir(project.path().join("build")));
}

#[test]
fn cmake_refuses_other_versions() {
    if lacks("cmake", "cmake") || lacks("make", "make") {
        return;
    }
    for version in ["0.0.9", "0.2", "1", "9"] {
        let project = project();
        let lists = format!(
            "cmake_minimum_required(VERSION 3.16)\nproject(user C)\nfind_package(FerroSHMEM {version} REQUIRED)\n"
        );
        fs::write(project.path().join("CMakeLists.txt"), lists).unwrap();
        let mut prefix_option = std::ffi::OsString::from("-DCMAKE_PREFIX_PATH=");
        prefix_option.push(prefix());
        let output = command("cmake").arg(prefix_option).arg(".").current_dir(project.path()).output();
        let output = output.unwrap();
        assert!(!output.status.success(), "version {version} was accepted");
        assert!(String::from_utf8_lossy(&output.stderr).contains("compatible"));
    }
}
