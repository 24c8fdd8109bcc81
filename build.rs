//! Gives the shared library its SONAME, so that programs record the major version that they were linked with, and writes
//! down for C what the build contains.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let major = env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo sets the version");
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system == "linux" || system == "android" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libzerobind.so.{major}");
        // the engines keep threads and thread-local destructors; unloading the library under them is never safe
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    if has("LINKED") && env::var("CARGO_CFG_TARGET_VENDOR").as_deref() == Ok("apple") {
        allow_missing_functions();
    }
    write_config_header().expect("the folder of the build can be written to");
}

/// Mach-O's linker takes a weak reference for an error when no library has the name, unless it is told otherwise.
fn allow_missing_functions() {
    let table = "src/runtime/tflite/symbols.rs";
    println!("cargo:rerun-if-changed={table}");
    let text = fs::read_to_string(table).expect("the table of functions is there");
    let optional = text.split("\n    optional {\n").nth(1).expect("the table has optional functions");
    let names = optional.split(" = ").skip(1).filter_map(|entry| entry.split(':').next());
    for name in names.take_while(|name| name.starts_with("TfLite")) {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-U,_{name}");
    }
}

fn has(feature: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
}

/// `zerobind_config.h` beside the libraries. `cargo` keeps one state of this script for each set of features but only one
/// file can lie there, so the script has to run again when another set was built in between.
fn write_config_header() -> io::Result<()> {
    let own_folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets the folder"));
    let file = beside_the_libraries(&own_folder).join("zerobind_config.h");
    println!("cargo:rerun-if-changed={}", file.display());
    let text = config_header();
    if fs::read_to_string(&file).is_ok_and(|present| present == text) {
        return Ok(());
    }
    fs::write(&file, text)?;
    as_old_as_this_run(&file, &own_folder)
}

/// `<target>/<profile>`, of which the script's own folder is `build/...`.
fn beside_the_libraries(own_folder: &Path) -> &Path {
    let build = own_folder.ancestors().find(|folder| folder.ends_with("build"));
    build.and_then(Path::parent).expect("cargo's folder for a build script is below `build`")
}

/// cargo runs a script again when a file is newer than the script's last start; a file that the script itself just wrote
/// would be. Where cargo's own mark of the start is not found, the next build runs the script once more, without harm.
fn as_old_as_this_run(file: &Path, own_folder: &Path) -> io::Result<()> {
    let mark = own_folder.with_file_name("invoked.timestamp");
    match fs::metadata(mark).and_then(|mark| mark.modified()) {
        Ok(start) => fs::File::options().write(true).open(file)?.set_modified(start),
        Err(_) => Ok(()),
    }
}

/// Each macro is always there, as 0 or 1, so that a misspelled one is found by -Wundef.
fn config_header() -> String {
    let contents = [
        ("WITH_TFLITE", "TFLITE", "TFLite is part of this build."),
        ("WITH_ONNXRUNTIME", "ONNXRUNTIME", "ONNX Runtime is part of this build."),
        ("LOAD_DYNAMIC", "LOAD_DYNAMIC", "The engines' libraries are found at run time."),
        ("LINKED", "LINKED", "The engines' libraries are linked."),
    ];
    let mut text = String::from(
        "/* What this build of zerobind contains. Written by its build; not needed to use the library. */\n\
         #ifndef ZEROBIND_CONFIG_H\n#define ZEROBIND_CONFIG_H\n",
    );
    for (name, feature, meaning) in contents {
        text += &format!("\n/* {meaning} */\n#define ZEROBIND_{name} {}\n", i32::from(has(feature)));
    }
    text + "\n#endif\n"
}
