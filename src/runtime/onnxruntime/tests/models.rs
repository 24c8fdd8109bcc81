//! The library, models and their sessions.

use std::path::Path;

use super::*;
use crate::base::Status;
use crate::runtime::onnxruntime::OnnxRuntime;
use crate::runtime::{EngineOptions, Runtime};

fn settings(threads: u32, settings: &[(&str, &str)]) -> Settings {
    let settings = settings.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Settings::parse(&EngineOptions { threads, settings }).unwrap()
}

#[test]
fn the_library_stays_what_it_was_loaded_from() {
    models();
    OnnxRuntime.load(None).unwrap();
    let info = OnnxRuntime.info();
    let path = info.path.unwrap().to_str().unwrap();
    OnnxRuntime.load(Some(Path::new(path))).unwrap();
    let error = OnnxRuntime.load(Some(Path::new("/no/such/libonnxruntime.so"))).unwrap_err();
    assert_eq!(error.status, Status::InvalidArgument);
    assert!(error.text().contains(path) && error.text().contains("/no/such/libonnxruntime.so"), "{}", error.text());
    assert!(OnnxRuntime.info().available && info.reason.is_none() && info.version.is_some());
}

#[test]
#[cfg(not(feature = "linked"))]
fn what_is_not_the_library_is_refused_with_the_whole_story() {
    let this_program = std::env::current_exe().unwrap();
    for wrong in [Path::new("/no/such/libonnxruntime.so"), Path::new("/dev/null"), &this_program] {
        let error = super::super::dynamic::start(Some(wrong)).err().unwrap();
        assert_eq!(error.status, Status::RuntimeUnavailable);
        for word in [&*wrong.to_string_lossy(), "the path given", "ZEROBIND_ONNXRUNTIME_LIB"] {
            assert!(error.text().contains(word), "{word}: {}", error.text());
        }
    }
}

#[test]
fn contexts_with_equal_options_share_a_session() {
    let model = open("add4.onnx");
    let first = model.session(Settings::default()).unwrap();
    let second = model.session(settings(1, &[("optimization", "all")])).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(model.session_count(), 1, "the session that read the model is used, not a second one");

    let other = model.session(settings(2, &[])).unwrap();
    assert!(!Arc::ptr_eq(&first, &other));
    assert_eq!(model.session_count(), 2);
    drop((first, second));
    assert_eq!(model.session_count(), 1, "an idle session is kept only if it is the latest");
    drop(other);
    assert_eq!(model.session_count(), 1, "the latest is kept for the next context");
    drop(model.session(settings(1, &[("ort.session.session.disable_prepacking", "1")])).unwrap());
    assert_eq!(model.session_count(), 1);
}

#[test]
fn a_context_outlives_its_model() {
    let model = open("add4.onnx");
    let (mut context, plan) = context(&model, 1);
    drop(model);
    let (x, desc) = (floats(&[1.5; 4]), &plan.inputs[0].desc);
    attach(&mut context, Slot::input(0), &x, desc, Stay::Sticky);
    attach(&mut context, Slot::input(1), &x, desc, Stay::Sticky);
    context.run().unwrap();
    assert_eq!(read(context.output(Slot::output(0)).unwrap().memory), [3.0; 4]);
}

#[test]
fn options_that_the_engine_refuses_are_the_callers_fault() {
    let model = open("add4.onnx");
    let error = model.session(settings(1, &[("ort.session.session.load_model_format", "ORT")])).err().unwrap();
    assert_eq!(error.status, Status::InvalidArgument, "{}", error.text());
    model.session(Settings::default()).unwrap();
}

#[test]
fn damage_is_found_when_a_model_is_opened() {
    let engine = load::engine(None);
    let model = bytes_of("basic_pitch.onnx");
    for length in [1, 10, 100, model.len() / 2, model.len() - 1] {
        let error =
            OnnxModel::open(engine.as_ref().unwrap(), from_bytes(model[..length].to_vec()), u64::MAX).err().unwrap();
        assert_eq!(error.status, Status::ModelInvalid, "{length} bytes: {}", error.text());
        assert!(length < 10 || OnnxRuntime.recognises(&model[..length]), "{length}");
    }
    for bytes in [vec![], b"\x18\0\0\0ORTM and no more".to_vec(), vec![0; 4096]] {
        assert_eq!(
            OnnxModel::open(engine.as_ref().unwrap(), from_bytes(bytes), u64::MAX).err().unwrap().status,
            Status::ModelInvalid
        );
    }
}

#[test]
fn weights_in_another_file_are_found_by_path_only() {
    let model = open("external.onnx");
    let (mut context, plan) = context(&model, 1);
    let x = buffer(&plan.inputs[0].desc);
    attach(&mut context, Slot::input(0), &x, &plan.inputs[0].desc, Stay::Sticky);
    context.run().unwrap();
    assert_eq!(read(context.output(Slot::output(0)).unwrap().memory)[1023], 1023.0);

    let error =
        OnnxModel::open(load::engine(None).unwrap(), from_bytes(bytes_of("external.onnx")), u64::MAX).err().unwrap();
    assert_eq!(error.status, Status::Unsupported);
    assert!(error.text().contains("external.data"), "{}", error.text());
}

#[test]
fn strings_are_described_and_cannot_be_attached() {
    let model = open("strings.onnx");
    let (mut context, plan) = context(&model, 1);
    assert!(plan.inputs[0].fixed.is_some() && plan.outputs[0].fixed.is_some());
    let bytes = floats(&[0.0; 64]);
    let desc = plan.inputs[0].desc;
    let error = context.attach(Slot::input(0), bytes.range(), &desc, Stay::OneRun).unwrap_err();
    assert_eq!(error.status, Status::Unsupported);
}
