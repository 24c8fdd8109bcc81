//! Links with libzerobind as any program would: the header's functions are all that is used of it.
//! It is looked for in ZEROBIND_LIB_DIR, or where `cargo build --release` of the library puts it.

use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-env-changed=ZEROBIND_LIB_DIR");
    println!("cargo:rerun-if-changed=build.rs");
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = std::env::var_os("ZEROBIND_LIB_DIR").map_or(here.join("../../../target/release"), PathBuf::from);
    println!("cargo:rustc-link-search=native={}", folder.display());
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "android") => {
            // both libraries lie in one folder
            println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
            // callbacks may come when the class loader that loaded this is long gone
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
        Ok("macos" | "ios") => println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,@loader_path"),
        _ => {}
    }
}
