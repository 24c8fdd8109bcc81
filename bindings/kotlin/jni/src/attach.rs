//! Threads of zerobind's and of the engines' that call into the JVM.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;

use jni::JavaVM;
use jni::sys;

thread_local! {
    static ATTACHED: RefCell<Option<Attached>> = const { RefCell::new(None) };
}

/// Detaches the thread when it ends; until then it stays attached, since attaching is dear.
struct Attached(JavaVM);

impl Drop for Attached {
    fn drop(&mut self) {
        let vm = self.0.get_raw();
        // SAFETY: this thread was attached by us, and none of our frames is on its stack any more
        unsafe { ((**vm).v1_1.DetachCurrentThread)(vm) };
    }
}

/// Makes sure that the JVM knows this thread. One that it does not know yet becomes a daemon: it never holds up the end of the
/// program. False if the JVM takes no more threads, as when it is ending.
pub fn as_daemon(vm: &JavaVM) -> bool {
    let raw = vm.get_raw();
    let mut env: *mut c_void = ptr::null_mut();
    // SAFETY: `raw` is the JVM, and the functions are of JNI 1.4, which JNI_OnLoad has asked for
    unsafe {
        if ((**raw).v1_2.GetEnv)(raw, &mut env, sys::JNI_VERSION_1_6) == sys::JNI_OK {
            return true;
        }
        if ((**raw).v1_4.AttachCurrentThreadAsDaemon)(raw, &mut env, ptr::null_mut()) != sys::JNI_OK {
            return false;
        }
    }
    // where thread locals are already going, the thread ends soon, and the JVM forgets it then
    let _ = ATTACHED.try_with(|attached| attached.replace(Some(Attached(vm.clone()))));
    true
}
