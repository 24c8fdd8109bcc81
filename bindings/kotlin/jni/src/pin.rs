//! Java objects that zerobind holds: a global reference each, let go in the callback that comes exactly once.

use std::ffi::c_void;
use std::sync::{PoisonError, RwLock};

use jni::ids::JMethodID;
use jni::objects::JObject;
use jni::signature::{Primitive, ReturnType};
use jni::sys::{jint, jlong, jobject, jvalue};
use jni::{Env, EnvUnowned, JavaVM, NativeMethod, jni_sig, jni_str};

use crate::attach;
use crate::zerobind::*;

/// The methods of `zerobind.internal.Pin`.
#[derive(Clone)]
struct Callbacks {
    vm: JavaVM,
    released: JMethodID,
    settled: JMethodID,
}

/// Of the class loader that loaded this library last. An earlier one is gone by then: what is pinned keeps its own loader.
static CALLBACKS: RwLock<Option<Callbacks>> = RwLock::new(None);

/// Looks up what callbacks call, whenever the library is loaded, while the class loader of the binding is at hand.
pub fn prepare(env: &mut Env) -> jni::errors::Result<()> {
    let class = env.find_class(jni_str!("zerobind/internal/Pin"))?;
    let released = env.get_method_id(&class, jni_str!("released"), jni_sig!("()V"))?;
    let settled = env.get_method_id(&class, jni_str!("settled"), jni_sig!("(JI)V"))?;
    // method ids stay valid as long as the class, which cannot go while objects of it are pinned
    let found = Callbacks { vm: env.get_java_vm()?, released, settled };
    *CALLBACKS.write().unwrap_or_else(PoisonError::into_inner) = Some(found);
    Ok(())
}

pub fn methods() -> Vec<NativeMethod<'static>> {
    vec![
        crate::native_method!("modelOpenBytes", "(JJLzerobind/internal/Pin;JJ)I", model_open_bytes),
        crate::native_method!("tensorWrap", "(JJJJLzerobind/internal/Pin;J)I", tensor_wrap),
        crate::native_method!("tensorWrapConst", "(JJJJLzerobind/internal/Pin;J)I", tensor_wrap_const),
        crate::native_method!("eventOnComplete", "(JLzerobind/internal/Pin;)I", event_on_complete),
    ]
}

/// Gives a global reference to `accept`, and takes it back if the call does not succeed: then no callback comes.
fn pinned(env: &mut EnvUnowned, pin: &JObject, accept: impl FnOnce(*mut c_void) -> i32) -> jint {
    env.with_env(|env| -> jni::errors::Result<jint> {
        let reference = env.new_global_ref(pin)?.into_raw();
        let status = accept(reference.cast());
        if status != OK {
            // SAFETY: it is ours again, and nobody else has it
            drop(unsafe { env.global_from_raw::<JObject>(reference) });
        }
        Ok(status)
    })
    .resolve::<jni::errors::ThrowRuntimeExAndDefault>()
}

extern "system" fn model_open_bytes<'local>(
    mut env: EnvUnowned<'local>,
    _: JObject<'local>,
    data: jlong,
    size: jlong,
    pin: JObject<'local>,
    options: jlong,
    model: jlong,
) -> jint {
    // SAFETY: the memory is that of the pinned buffer
    pinned(&mut env, &pin, |reference| unsafe {
        zb_model_open_bytes(data as _, size as _, release, reference, options as _, model as _)
    })
}

extern "system" fn tensor_wrap<'local>(
    mut env: EnvUnowned<'local>,
    _: JObject<'local>,
    desc: jlong,
    data: jlong,
    size: jlong,
    capacity: jlong,
    pin: JObject<'local>,
    tensor: jlong,
) -> jint {
    // SAFETY: the memory is that of the pinned buffer
    pinned(&mut env, &pin, |reference| unsafe {
        zb_tensor_wrap(desc as _, data as _, size as _, capacity as _, release, reference, tensor as _)
    })
}

extern "system" fn tensor_wrap_const<'local>(
    mut env: EnvUnowned<'local>,
    _: JObject<'local>,
    desc: jlong,
    data: jlong,
    size: jlong,
    capacity: jlong,
    pin: JObject<'local>,
    tensor: jlong,
) -> jint {
    // SAFETY: the memory is that of the pinned buffer
    pinned(&mut env, &pin, |reference| unsafe {
        zb_tensor_wrap_const(desc as _, data as _, size as _, capacity as _, release, reference, tensor as _)
    })
}

extern "system" fn event_on_complete<'local>(
    mut env: EnvUnowned<'local>,
    _: JObject<'local>,
    event: jlong,
    pin: JObject<'local>,
) -> jint {
    // SAFETY: the reference is the callback's, which is called once
    pinned(&mut env, &pin, |reference| unsafe { zb_event_on_complete(event as _, complete, reference) })
}

extern "C" fn release(reference: *mut c_void, _: *mut c_void, _: usize) {
    let _ = call_and_let_go(reference.cast(), |callbacks| callbacks.released, &[]);
}

extern "C" fn complete(reference: *mut c_void, event: *mut c_void, result: i32) {
    let arguments = [jvalue { j: event as jlong }, jvalue { i: result }];
    let _ = call_and_let_go(reference.cast(), |callbacks| callbacks.settled, &arguments);
}

/// Calls a method of the pinned object and lets it go. Where the JVM takes no more calls the object stays: it ends with the JVM.
/// An exception that the method should throw ends here.
fn call_and_let_go(
    reference: jobject,
    method: impl FnOnce(&Callbacks) -> JMethodID,
    arguments: &[jvalue],
) -> jni::errors::Result<()> {
    let callbacks = CALLBACKS.read().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(callbacks) = callbacks else { return Ok(()) };
    if !attach::as_daemon(&callbacks.vm) {
        return Ok(());
    }
    callbacks.vm.attach_current_thread(|env| {
        // SAFETY: zerobind gives back the reference that `pinned` gave it, once
        let pin = unsafe { env.global_from_raw::<JObject>(reference) };
        let nothing = ReturnType::Primitive(Primitive::Void);
        // SAFETY: the method is of the pinned object's class, with these arguments
        unsafe { env.call_method_unchecked(&pin, method(&callbacks), nothing, arguments) }.map(|_| ())
    })
}
