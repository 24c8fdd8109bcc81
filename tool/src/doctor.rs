//! `zerobind doctor`: which engines are here, and how to get what is missing.

use serde::Serialize;

use crate::abi::{self, RuntimeKind};
use crate::cli::Doctor;
use crate::failure::{Exit, Result};
use crate::print;
use crate::text::{plain, plain_lines};

#[derive(Serialize)]
struct Diagnosis {
    zerobind: String,
    engines: Vec<Engine>,
}

#[derive(Serialize)]
struct Engine {
    engine: &'static str,
    title: &'static str,
    available: bool,
    version: Option<String>,
    path: Option<String>,
    /// The library's own story of why it is not available.
    reason: Option<String>,
    variable: &'static str,
    variable_value: Option<String>,
    how_to_get: &'static [&'static str],
}

/// Ways to each engine's library; those that name a version were gone with it.
fn ways(kind: RuntimeKind) -> &'static [&'static str] {
    match kind {
        RuntimeKind::OnnxRuntime => &[
            "Python: `pip install onnxruntime` brings onnxruntime/capi/libonnxruntime.so.VERSION (seen with 1.32.0)",
            "Node.js: `npm install onnxruntime-node` brings bin/napi-v6/linux/x64/libonnxruntime.so.1 (seen with 1.30.0)",
            "wanted is version 1.17 or newer; Debian 12 has no package of it",
        ],
        RuntimeKind::Tflite => &[
            "Python: `pip install pymicro-wakeword` brings pymicro_wakeword/lib/libtensorflowlite_c.so, TFLite 2.17.1 \
             (seen with 2.5.0)",
            "or build TensorFlow's target //tensorflow/lite/c:tensorflowlite_c",
            "wanted is version 2.17 or newer; Debian 12 has no package of it",
        ],
    }
}

pub fn doctor(options: &Doctor) -> Result<Exit> {
    let wanted = options.runtime.kind();
    let engines = RuntimeKind::ALL.into_iter().filter(|kind| wanted.is_none_or(|wanted| wanted == *kind));
    let diagnosis = Diagnosis { zerobind: abi::version(), engines: engines.map(examine).collect::<Result<Vec<_>>>()? };
    if options.json {
        print::json(&diagnosis)?;
    } else {
        print::text(&prose(&diagnosis))?;
    }
    let any = diagnosis.engines.iter().any(|engine| engine.available);
    Ok(if any { Exit::Success } else { Exit::EngineMissing })
}

fn examine(kind: RuntimeKind) -> Result<Engine> {
    let reason = abi::load_runtime(kind).err().map(|error| error.text);
    let info = abi::runtime_info(kind)?;
    let available = reason.is_none();
    Ok(Engine {
        engine: kind.key(),
        title: kind.title(),
        available,
        version: info.version,
        path: info.path,
        reason,
        variable: kind.variable(),
        variable_value: std::env::var_os(kind.variable()).map(|value| value.to_string_lossy().into_owned()),
        how_to_get: if available { &[] } else { ways(kind) },
    })
}

fn prose(diagnosis: &Diagnosis) -> String {
    let mut text = format!("zerobind {}\n", diagnosis.zerobind);
    for engine in &diagnosis.engines {
        text += "\n";
        text += &if engine.available { found(engine) } else { missing(engine) };
    }
    text
}

fn found(engine: &Engine) -> String {
    let version = engine.version.as_deref().unwrap_or("of unknown version");
    let (version, path) = (plain(version), plain(engine.path.as_deref().unwrap_or("an unknown place")));
    let from = if engine.variable_value.as_deref().is_some_and(|value| !value.is_empty()) {
        format!(" (named by {})", engine.variable)
    } else {
        String::new()
    };
    format!("{} {version}: found\n  {path}{from}\n", engine.title)
}

fn missing(engine: &Engine) -> String {
    let mut text = format!("{}: missing\n  {}\n", engine.title, plain_lines(engine.reason.as_deref().unwrap_or("")));
    text += "  How to get it:\n";
    for way in engine.how_to_get {
        text += &format!("  - {way}\n");
    }
    text + &format!("  Then name the file: export {}=/path/to/the/library\n", engine.variable)
}
