//! Addresses of buffers, and memory that Kotlin cannot read by itself.

use std::ffi::{CStr, c_char};

use jni::errors::ThrowRuntimeExAndDefault;
use jni::objects::{JByteArray, JByteBuffer, JObject};
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, NativeMethod};

pub fn methods() -> Vec<NativeMethod<'static>> {
    vec![
        crate::native_method!("address", "(Ljava/nio/Buffer;)J", address),
        crate::native_method!("bytes", "(JI)[B", bytes),
        crate::native_method!("cString", "(J)[B", c_string),
    ]
}

/// Where a direct buffer's first element lies; 0 for a buffer without an address.
extern "system" fn address<'local>(mut env: EnvUnowned<'local>, _: JObject<'local>, buffer: JObject<'local>) -> jlong {
    env.with_env(|env| -> jni::errors::Result<jlong> {
        // SAFETY: every direct buffer will do for JNI's GetDirectBufferAddress, whatever its elements; the argument is a local
        // reference that outlives this one, and JByteBuffer does nothing to it when dropped
        let buffer = unsafe { JByteBuffer::from_raw(env, buffer.as_raw()) };
        Ok(env.get_direct_buffer_address(&buffer).map_or(0, |address| address as jlong))
    })
    .resolve::<ThrowRuntimeExAndDefault>()
}

/// A copy of `size` bytes: names, numbers and texts that zerobind keeps.
extern "system" fn bytes<'local>(
    mut env: EnvUnowned<'local>,
    _: JObject<'local>,
    address: jlong,
    size: jint,
) -> JByteArray<'local> {
    env.with_env(|env| {
        // SAFETY: the Kotlin side asks for memory that zerobind said is readable
        let bytes = unsafe { std::slice::from_raw_parts(address as usize as *const u8, size as usize) };
        array(env, bytes)
    })
    .resolve::<ThrowRuntimeExAndDefault>()
}

/// A copy of the text at the address, without its NUL.
extern "system" fn c_string<'local>(
    mut env: EnvUnowned<'local>,
    _: JObject<'local>,
    address: jlong,
) -> JByteArray<'local> {
    env.with_env(|env| {
        // SAFETY: texts of zerobind end with NUL
        let text = unsafe { CStr::from_ptr(address as usize as *const c_char) };
        array(env, text.to_bytes())
    })
    .resolve::<ThrowRuntimeExAndDefault>()
}

fn array<'local>(env: &mut Env<'local>, bytes: &[u8]) -> jni::errors::Result<JByteArray<'local>> {
    env.byte_array_from_slice(bytes)
}
