//! The C programs of the benchmark and of the conformance tests know the functions of ONNX Runtime's C API by their places in its table; here the places are
//! compared with those that ort-sys declares.

#![cfg(feature = "onnxruntime")]

use std::collections::BTreeMap;
use std::mem::offset_of;

use ort_sys::OrtApi;

macro_rules! places {
    ($($name:ident)*) => {
        BTreeMap::from([$((stringify!($name), offset_of!(OrtApi, $name) / size_of::<*const ()>())),*])
    };
}

/// The pairs of the list in the header: `function(9, Run, ...)`.
fn written() -> BTreeMap<String, usize> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/raw/ort_api.h");
    let text = std::fs::read_to_string(path).unwrap();
    let entries = text.lines().filter_map(|line| line.trim().strip_prefix("function("));
    let pair = |entry: &str| {
        let mut fields = entry.split(',').map(str::trim);
        Some((fields.next()?.parse().ok()?, fields.next()?.to_owned()))
    };
    entries.filter_map(pair).map(|(place, name)| (name, place)).collect()
}

#[test]
fn functions_are_where_the_header_of_the_benchmark_says() {
    let declared = places! {
        GetErrorMessage CreateEnv DisableTelemetryEvents CreateSession CreateSessionFromArray Run CreateSessionOptions
        SetSessionGraphOptimizationLevel SetIntraOpNumThreads SetInterOpNumThreads SessionGetInputCount
        SessionGetOutputCount SessionGetInputName SessionGetOutputName CreateRunOptions CreateTensorAsOrtValue CreateTensorWithDataAsOrtValue
        GetTensorMutableData CreateCpuMemoryInfo AllocatorFree GetAllocatorWithDefaultOptions ReleaseEnv ReleaseStatus
        ReleaseMemoryInfo ReleaseSession ReleaseValue ReleaseRunOptions ReleaseSessionOptions RunWithBinding
        CreateIoBinding ReleaseIoBinding BindInput BindOutput GetTensorElementType GetDimensionsCount GetDimensions
        GetTensorTypeAndShape ReleaseTensorTypeAndShapeInfo
        SessionGetInputTypeInfo CastTypeInfoToTensorInfo ReleaseTypeInfo
    };
    let declared: BTreeMap<String, usize> =
        declared.into_iter().map(|(name, place)| (name.to_owned(), place)).collect();
    assert_eq!(written(), declared);
}
