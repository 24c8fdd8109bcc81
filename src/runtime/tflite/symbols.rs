//! The functions of TFLite's C API that are used here: their types and one table of pointers to them.
//!
//! It is filled from a library that is found at run time, or in a build with the feature `linked` by the linker.

#[cfg(not(feature = "linked"))]
use std::ffi::CStr;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

/// Something that only the engine knows from inside.
macro_rules! opaque {
    ($($name:ident)*) => { $(#[repr(C)] pub struct $name { _inside: [u8; 0] })* };
}
opaque! { RawModel RawOptions RawInterpreter RawTensor RawDelegate }

/// `TfLiteStatus`; kept as a number, since later versions add values.
pub type RawStatus = c_int;
pub const OK: RawStatus = 0;
/// An operator that the engine has no code for.
pub const UNRESOLVED_OPS: RawStatus = 7;
/// A run that was told to stop.
pub const CANCELLED: RawStatus = 8;

/// `va_list` as a parameter: see `report`.
pub type VaList = *mut c_void;
pub type Reporter = unsafe extern "C" fn(user_data: *mut c_void, format: *const c_char, arguments: VaList);

/// Memory of the host in the place of the engine's (`TfLiteCustomAllocation`).
#[repr(C)]
pub struct CustomAllocation {
    pub data: *mut c_void,
    pub bytes: usize,
}

/// `TfLiteIntArray` and `TfLiteFloatArray`: a count, then that many values of four bytes.
#[repr(C)]
pub struct RawArray<T> {
    pub size: c_int,
    pub first: [T; 0],
}

/// `TfLiteQuantization`.
#[repr(C)]
pub struct RawQuantization {
    pub kind: c_int,
    pub parameters: *const c_void,
}

/// `TfLiteAffineQuantization`, what `parameters` points to when `kind` is 1.
#[repr(C)]
pub struct RawAffine {
    pub scales: *const RawArray<f32>,
    pub zero_points: *const RawArray<i32>,
    pub axis: i32,
}

/// `TfLiteXNNPackDelegateOptions`, with room for what later versions append.
///
/// Every version begins with the number of threads, and since 2.5 it is larger than what any calling convention returns in
/// registers. Such a result is written through a pointer to memory of the caller, so more room than the engine's own
/// version needs is harmless; a smaller struct would be overrun. 2.17 has 32 bytes.
#[repr(C, align(16))]
pub struct XnnpackOptions {
    pub threads: i32,
    /// What lies behind the end of the engine's own struct is never written, by anybody.
    _rest: [MaybeUninit<u32>; 127],
}

/// A way from a C name to an address, such as an opened library.
#[cfg(not(feature = "linked"))]
pub trait LookUp {
    fn address(&self, name: &CStr) -> Option<*const c_void>;
}

/// An address as a function.
///
/// # Safety
/// `address` is a function of the type `F`, a plain function pointer.
#[cfg(not(feature = "linked"))]
unsafe fn as_function<F: Copy>(address: *const c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    // SAFETY: both are as large as a pointer, and the caller vouches for the type.
    unsafe { std::mem::transmute_copy(&address) }
}

/// The name of a function as the loader takes it.
#[cfg(not(feature = "linked"))]
macro_rules! c_name {
    ($name:ident) => {
        const {
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            }
        }
    };
}

macro_rules! symbols {
    (
        required { $($field:ident = $name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)* }
        optional { $($extra:ident = $extra_name:ident: fn($($extra_argument:ty),*) $(-> $extra_result:ty)?;)* }
    ) => {
        /// What the engine can do for us.
        #[derive(Clone, Copy)]
        pub struct Symbols {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            $(pub $extra: Option<unsafe extern "C" fn($($extra_argument),*) $(-> $extra_result)?>,)*
        }

        #[cfg(not(feature = "linked"))]
        impl Symbols {
            /// Looks everything up; the error is the list of what is missing.
            pub fn fill(library: &dyn LookUp) -> Result<Symbols, Vec<&'static CStr>> {
                let missing: Vec<&CStr> =
                    [$(c_name!($name)),*].into_iter().filter(|name| library.address(name).is_none()).collect();
                if !missing.is_empty() {
                    return Err(missing);
                }
                // SAFETY: a function of this name in TFLite's C API has this type in every version that is accepted.
                unsafe {
                    Ok(Symbols {
                        $($field: as_function(library.address(c_name!($name)).expect("looked up above")),)*
                        $($extra: library.address(c_name!($extra_name)).map(|address| as_function(address)),)*
                    })
                }
            }
        }

        #[cfg(feature = "linked")]
        mod linked {
            use super::*;

            unsafe extern "C" {
                $(fn $name($(_: $argument),*) $(-> $result)?;)*
            }

            /// The functions that a library may lack. Rust cannot say that a symbol is allowed to be missing, the assembler
            /// can: the linker leaves a zero where there is none.
            #[repr(C)]
            struct Optional {
                $($extra: Option<unsafe extern "C" fn($($extra_argument),*) $(-> $extra_result)?>,)*
            }

            optional_table!($($extra_name)*);

            unsafe extern "C" {
                static zerobind_optional_tflite: Optional;
            }

            impl Symbols {
                /// The functions that the linker found. That none of the required ones is missing, it has seen to.
                pub fn linked() -> Symbols {
                    // SAFETY: the table has one address for each field, in their order, and is never written.
                    let optional = unsafe { &zerobind_optional_tflite };
                    Symbols { $($field: $name,)* $($extra: optional.$extra,)* }
                }
            }
        }
    };
}

/// A read-only table of the addresses of these functions, zero for each one that is not linked.
///
/// ELF: a weak reference may stay open in every kind of link. It does not fetch a member of a static archive by itself.
#[cfg(all(feature = "linked", not(target_vendor = "apple")))]
macro_rules! optional_table {
    ($($name:ident)*) => {
        std::arch::global_asm!(
            ".pushsection .data.rel.ro.zerobind_optional, \"aw\"",
            ".balign 8",
            ".hidden zerobind_optional_tflite",
            ".globl zerobind_optional_tflite",
            "zerobind_optional_tflite:",
            $(concat!(".weak ", stringify!($name)), concat!(".dc.a ", stringify!($name)),)*
            ".popsection",
        );
    };
}

/// Mach-O: names have an underscore, and build.rs tells the linker of the shared library that these may be missing.
#[cfg(all(feature = "linked", target_vendor = "apple"))]
macro_rules! optional_table {
    ($($name:ident)*) => {
        std::arch::global_asm!(
            ".section __DATA,__const",
            ".p2align 3",
            ".private_extern _zerobind_optional_tflite",
            ".globl _zerobind_optional_tflite",
            "_zerobind_optional_tflite:",
            $(concat!(".weak_reference _", stringify!($name)), concat!(".quad _", stringify!($name)),)*
            ".text",
        );
    };
}
symbols! {
    required {
        model_delete = TfLiteModelDelete: fn(*mut RawModel);
        model_create = TfLiteModelCreateWithErrorReporter:
            fn(*const c_void, usize, Reporter, *mut c_void) -> *mut RawModel;

        options_create = TfLiteInterpreterOptionsCreate: fn() -> *mut RawOptions;
        options_delete = TfLiteInterpreterOptionsDelete: fn(*mut RawOptions);
        options_set_threads = TfLiteInterpreterOptionsSetNumThreads: fn(*mut RawOptions, i32);
        options_add_delegate = TfLiteInterpreterOptionsAddDelegate: fn(*mut RawOptions, *mut RawDelegate);
        options_set_reporter = TfLiteInterpreterOptionsSetErrorReporter:
            fn(*mut RawOptions, Reporter, *mut c_void);

        interpreter_create = TfLiteInterpreterCreate: fn(*const RawModel, *const RawOptions) -> *mut RawInterpreter;
        interpreter_delete = TfLiteInterpreterDelete: fn(*mut RawInterpreter);
        input_count = TfLiteInterpreterGetInputTensorCount: fn(*const RawInterpreter) -> i32;
        output_count = TfLiteInterpreterGetOutputTensorCount: fn(*const RawInterpreter) -> i32;
        input_indices = TfLiteInterpreterInputTensorIndices: fn(*const RawInterpreter) -> *const c_int;
        output_indices = TfLiteInterpreterOutputTensorIndices: fn(*const RawInterpreter) -> *const c_int;
        tensor = TfLiteInterpreterGetTensor: fn(*const RawInterpreter, c_int) -> *const RawTensor;
        resize_input = TfLiteInterpreterResizeInputTensor:
            fn(*mut RawInterpreter, i32, *const c_int, i32) -> RawStatus;
        allocate_tensors = TfLiteInterpreterAllocateTensors: fn(*mut RawInterpreter) -> RawStatus;
        set_custom_allocation = TfLiteInterpreterSetCustomAllocationForTensor:
            fn(*mut RawInterpreter, c_int, *const CustomAllocation, i64) -> RawStatus;
        invoke = TfLiteInterpreterInvoke: fn(*mut RawInterpreter) -> RawStatus;

        tensor_type = TfLiteTensorType: fn(*const RawTensor) -> c_int;
        tensor_rank = TfLiteTensorNumDims: fn(*const RawTensor) -> i32;
        tensor_dim = TfLiteTensorDim: fn(*const RawTensor, i32) -> i32;
        tensor_bytes = TfLiteTensorByteSize: fn(*const RawTensor) -> usize;
        tensor_data = TfLiteTensorData: fn(*const RawTensor) -> *mut c_void;
        tensor_name = TfLiteTensorName: fn(*const RawTensor) -> *const c_char;
        tensor_allocation = TfLiteOpaqueTensorGetAllocationType: fn(*const RawTensor) -> c_int;
        tensor_is_variable = TfLiteOpaqueTensorIsVariable: fn(*const RawTensor) -> c_int;
        tensor_open_rank = TfLiteOpaqueTensorGetNumDimsSignature: fn(*const RawTensor, *mut i32) -> RawStatus;
        tensor_open_dim = TfLiteOpaqueTensorGetDimSignature: fn(*const RawTensor, i32, *mut i32) -> RawStatus;
        tensor_quantization = TfLiteOpaqueTensorGetQuantization: fn(*const RawTensor) -> RawQuantization;
    }
    optional {
        // a library built without XNNPACK has none of these
        xnnpack_defaults = TfLiteXNNPackDelegateOptionsDefault: fn() -> XnnpackOptions;
        xnnpack_create = TfLiteXNNPackDelegateCreate: fn(*const XnnpackOptions) -> *mut RawDelegate;
        xnnpack_delete = TfLiteXNNPackDelegateDelete: fn(*mut RawDelegate);
        // part of the experimental header
        options_enable_cancellation = TfLiteInterpreterOptionsEnableCancellation: fn(*mut RawOptions, bool) -> RawStatus;
        interpreter_cancel = TfLiteInterpreterCancel: fn(*const RawInterpreter) -> RawStatus;
        type_name = TfLiteTypeGetName: fn(c_int) -> *const c_char;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(feature = "linked"))]
    struct Without(&'static CStr);

    #[cfg(not(feature = "linked"))]
    impl LookUp for Without {
        fn address(&self, name: &CStr) -> Option<*const c_void> {
            (name != self.0).then_some(as_missing as *const c_void)
        }
    }

    #[cfg(not(feature = "linked"))]
    extern "C" fn as_missing() {}

    #[test]
    #[cfg(not(feature = "linked"))]
    fn a_missing_function_is_named_and_an_optional_one_is_not_needed() {
        let missing = Symbols::fill(&Without(c"TfLiteInterpreterInvoke")).err().unwrap();
        assert_eq!(missing, [c"TfLiteInterpreterInvoke"]);
        let table = Symbols::fill(&Without(c"TfLiteXNNPackDelegateCreate")).ok().unwrap();
        assert!(table.xnnpack_create.is_none() && table.xnnpack_delete.is_some());
    }

    #[test]
    fn structs_have_the_layout_of_the_headers() {
        assert_eq!(size_of::<CustomAllocation>(), 2 * size_of::<usize>());
        assert_eq!(size_of::<RawQuantization>(), 2 * size_of::<usize>());
        assert_eq!(std::mem::offset_of!(RawArray<f32>, first), 4);
        assert_eq!(std::mem::offset_of!(XnnpackOptions, threads), 0);
    }
}
