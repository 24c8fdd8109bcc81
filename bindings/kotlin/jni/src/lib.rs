//! The native methods of `zerobind.internal.Jni`, for JVMs without the foreign-function API, and for Android.
//!
//! Everything is done by functions of zerobind.h, in the one libzerobind of the process: another library of the program may use
//! it too. Structs are laid out by the Kotlin side, in memory that it keeps during the call; here are only numbers, and the
//! references that keep Java objects while zerobind uses their memory.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the Kotlin side lays out structs for 64-bit targets");

mod attach;
mod forward;
mod memory;
mod pin;
mod zerobind;

use std::ffi::c_void;

use jni::sys::{JNI_ERR, JNI_VERSION_1_6, jint};
use jni::{Env, JavaVM, jni_str};

/// A native method by name, signature and function.
#[macro_export]
macro_rules! native_method {
    ($name:expr, $signature:expr, $function:ident) => {{
        const NAME: &str = concat!($name, "\0");
        const SIGNATURE: &str = concat!($signature, "\0");
        $crate::method(NAME, SIGNATURE, $function as *mut std::ffi::c_void)
    }};
}

fn method(name: &'static str, signature: &'static str, function: *mut c_void) -> jni::NativeMethod<'static> {
    let [name, signature] = [name, signature].map(|text| {
        let text = std::ffi::CStr::from_bytes_with_nul(text.as_bytes()).expect("it ends with NUL");
        jni::strings::JNIStr::from_cstr(text).expect("names are ASCII")
    });
    // SAFETY: each table stands next to its functions
    unsafe { jni::NativeMethod::from_raw_parts(name, signature, function) }
}

/// Registers every native method, so that one that is missing or of another signature is told when the library is loaded.
///
/// # Safety
/// `vm` is the JVM that loads the library.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn JNI_OnLoad(vm: *mut jni::sys::JavaVM, _: *mut c_void) -> jint {
    // SAFETY: the JVM gives itself
    let vm = unsafe { JavaVM::from_raw(vm) };
    match vm.attach_current_thread(register) {
        Ok(()) => JNI_VERSION_1_6,
        Err(_) => JNI_ERR,
    }
}

fn register(env: &mut Env) -> jni::errors::Result<()> {
    pin::prepare(env)?;
    let methods: Vec<_> = [forward::methods(), memory::methods(), pin::methods()].into_iter().flatten().collect();
    // SAFETY: all are instance methods, and take `this` as their second parameter
    unsafe { env.register_native_methods(jni_str!("zerobind/internal/Jni"), &methods) }
}
