//! Gives the shared library its SONAME, so that programs record the major version that they were linked with.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo sets the version");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libzerobind.so.{major}");
        // the engines keep threads and thread-local destructors; unloading the library under them is never safe
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
