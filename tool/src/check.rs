//! `zerobind check`: whether a model can be opened, planned and run at all, found out in a process of its own.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::abi::{self, ContextOptions, Trial};
use crate::cli::Check;
use crate::failure::{Exit, Failure, Result};
use crate::{print, text};

#[derive(Serialize)]
struct Verdict {
    model: String,
    passed: bool,
    status: String,
    /// Why it did not pass, and at which stage.
    text: Option<String>,
    milliseconds: f64,
}

pub fn check(options: &Check) -> Result<Exit> {
    let trial = Trial {
        model: &options.model,
        runtime: options.engine.runtime.kind(),
        max_tensor_bytes: options.engine.max_tensor_bytes,
        max_memory_bytes: options.max_memory,
        timeout: Duration::from_secs_f64(options.timeout),
        context: ContextOptions {
            threads: options.engine.threads,
            settings: options.engine.settings.clone(),
            ..Default::default()
        },
        shapes: options.shapes.iter().map(|(input, dims)| (*input, dims.0.as_slice())).collect(),
    };
    let start = Instant::now();
    let result = trial.run();
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    if options.json {
        return verdict(options, result, milliseconds);
    }
    result?;
    let name = text::plain(&options.model.to_string_lossy());
    print::text(&format!("{name}: passed (loaded, planned, run once on zeros; {milliseconds:.0} ms)\n"))?;
    Ok(Exit::Success)
}

fn verdict(options: &Check, result: abi::Result<()>, milliseconds: f64) -> Result<Exit> {
    let (status, failure) = match result {
        Ok(()) => (0, None),
        Err(error) => (error.status, Some(Failure::from(error))),
    };
    let exit = failure.as_ref().map_or(Exit::Success, |failure| failure.exit);
    print::json(&Verdict {
        model: options.model.to_string_lossy().into_owned(),
        passed: failure.is_none(),
        status: abi::status_name(status),
        text: failure.map(|failure| failure.text),
        milliseconds,
    })?;
    Ok(exit)
}
