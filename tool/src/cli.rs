//! The command line: what there is to say, and the help that explains it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::abi::RuntimeKind;
use crate::text::Dims;

/// Look into TFLite and ONNX models, run them on files and measure them, without copies.
///
/// The engines are TensorFlow Lite's C library and ONNX Runtime, which are found at run time: `zerobind doctor` tells
/// where.
#[derive(Parser)]
#[command(name = "zerobind", version, after_help = EXIT_CODES, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

pub const EXIT_CODES: &str = "\
Exit codes:
  0   done
  1   a bug in zerobind
  2   usage: an unknown option, slot name or option key, or a value that cannot be
  3   the file is not a model, or is damaged; check: it crashed or hung
  4   the engine's library was not found or does not fit (doctor: none was)
  5   a file cannot be read, mapped or written
  6   the engine or zerobind cannot do this
  7   data that does not fit the model: type, shape, a missing input, a .npy file that is broken
  8   only a copy could do it, and copies are not allowed (--allow-copies)
  9   the engine failed
  10  out of memory

Engines are looked for where ZEROBIND_TFLITE_LIB and ZEROBIND_ONNXRUNTIME_LIB say, else next to this program and where \
the system's loader looks. ORT_DISABLE_TELEMETRY=1 keeps Microsoft's builds of ONNX Runtime from reporting over the \
network when they start.";

#[derive(Subcommand)]
pub enum Command {
    /// Tell which engines are here, where, and how to get what is missing
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(Doctor),
    /// Try a model in a process of its own, which a damaged or hostile one may crash or hang
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// Tell what a model takes and gives, and what memory for it has to be like
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(Inspect),
    /// Run a model on files, in place: inputs are mapped, results are written into the output files by the engine
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Measure a model: latency, and what copies in and out would add
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(Bench),
    /// Write the manual pages
    #[command(hide = true)]
    Man(Man),
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  zerobind doctor
  zerobind doctor --runtime tflite --json";

const CHECK_EXAMPLES: &str = "\
The model is loaded, planned and run once on zeros. Exit code 0: all of that was done. 3: it is damaged, or it ended the \
process or did not come to an end; the text tells the stage. Every other code: the trial came no further, without a crash.

Examples:
  zerobind check add4.onnx
  zerobind check melspectrogram.tflite --shape 0=1,1280 --timeout 10
  zerobind check image.tflite --max-memory 1000000000 --json";

const INSPECT_EXAMPLES: &str = "\
Open dimensions are shown by name, or as ?. What memory has to be like is known once they are: give them by --shape.

Examples:
  zerobind inspect add4.onnx
  zerobind inspect batch.onnx --shape x=8,4
  zerobind inspect quantized.tflite --json";

const RUN_EXAMPLES: &str = "\
A .npy file tells type and shape itself (versions 1 to 3, little-endian, C order). Any other file is taken for the bare \
bytes of the tensor. Results go to new files, which take the place of old ones only when the run has succeeded. An output \
whose size only the run tells is copied into its file, and the report says so; outputs that are not named are not written.

Examples:
  zerobind run add4.onnx --input x=x.npy --input y=y.npy --output z=z.npy
  zerobind run batch.tflite --shape x=2,4 --input x=frame.raw --output y=y.raw
  zerobind run add4.tflite -i x=x.npy -i y=y.npy --repeat 100 --json";

const BENCH_EXAMPLES: &str = "\
Blocks of runs on bound memory alternate with blocks that copy every input in and every output out, as with an \
engine's own buffers. Inputs are zeros unless files or --seed are given.

Examples:
  zerobind bench add4.onnx --seconds 1
  zerobind bench batch.onnx --shape x=8,4 --seed 1 --seconds 1 --html bench.html
  zerobind bench add4.tflite --input x=x.npy --seconds 1 --json";

#[derive(Clone, Copy, ValueEnum)]
pub enum Runtime {
    Auto,
    Tflite,
    Onnxruntime,
}

impl Runtime {
    pub fn kind(self) -> Option<RuntimeKind> {
        match self {
            Runtime::Auto => None,
            Runtime::Tflite => Some(RuntimeKind::Tflite),
            Runtime::Onnxruntime => Some(RuntimeKind::OnnxRuntime),
        }
    }
}

#[derive(Args)]
pub struct Doctor {
    /// Ask for this engine alone
    #[arg(long, value_enum, default_value_t = Runtime::Auto, hide_possible_values = true, value_name = "tflite|onnxruntime")]
    pub runtime: Runtime,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How a model is opened, and what its context is like.
#[derive(Args)]
pub struct Engine {
    /// Engine; auto goes by the content of the model
    #[arg(long, value_enum, default_value_t = Runtime::Auto)]
    pub runtime: Runtime,
    /// Threads that compute
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=1024))]
    pub threads: i32,
    /// Option of the engine, as tflite.xnnpack=false, optimization=basic or ort.session.KEY=VALUE; again for each
    #[arg(long = "option", value_name = "KEY=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    /// Refuse tensors of more bytes than this; 0 is zerobind's own limit of 4 GiB
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub max_tensor_bytes: u64,
}

/// The slots are not known by name before the model is opened, which is what this does not do.
#[derive(Args)]
pub struct Check {
    /// The model, a .tflite or .onnx file (told by its content)
    pub model: PathBuf,
    /// Shape of an input with open dimensions, by its number, counted from 0; others are 1 where the model starts with
    /// nothing else; again for each such input
    #[arg(long = "shape", value_name = "N=D,D,...", value_parser = numbered_shape)]
    pub shapes: Vec<(u32, Dims)>,
    #[command(flatten)]
    pub engine: Engine,
    /// How long it may take, in seconds
    #[arg(long, value_name = "S", default_value_t = 30.0, value_parser = seconds)]
    pub timeout: f64,
    /// The most memory that it may take, in bytes; 0 is half of the machine's
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub max_memory: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What every command on a model takes.
#[derive(Args)]
pub struct Common {
    /// The model, a .tflite or .onnx file (told by its content)
    pub model: PathBuf,
    /// Shape of an input with open dimensions; again for each such input
    #[arg(long = "shape", value_name = "NAME=D,D,...", value_parser = shape)]
    pub shapes: Vec<(String, Dims)>,
    #[command(flatten)]
    pub engine: Engine,
    /// Print the log of zerobind and of the engine
    #[arg(long, short)]
    pub verbose: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Inspect {
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    pub common: Common,
    /// Input from a file, .npy or bare bytes; again for each input
    #[arg(long = "input", short, value_name = "NAME=FILE")]
    pub inputs: Vec<OsString>,
    /// Output to a file: .npy by that ending, else bare bytes; again for each output
    #[arg(long = "output", short, value_name = "NAME=FILE")]
    pub outputs: Vec<OsString>,
    /// Let zerobind copy what the engine cannot use in place; without it, that is an error
    #[arg(long)]
    pub allow_copies: bool,
    /// Run this many times on the same inputs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub repeat: u64,
}

#[derive(Args)]
pub struct Bench {
    #[command(flatten)]
    pub common: Common,
    /// Input from a file, .npy or bare bytes; other inputs are zeros, or random with --seed
    #[arg(long = "input", short, value_name = "NAME=FILE")]
    pub inputs: Vec<OsString>,
    /// Random inputs: floats of 0 to 1, bytes of all values, other integers and booleans 0 or 1
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// How long to measure, in seconds
    #[arg(long, value_name = "S", default_value_t = 3.0, value_parser = seconds)]
    pub seconds: f64,
    /// Write a page with a histogram and with where the time goes
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

#[derive(Args)]
pub struct Man {
    /// Folder for the pages
    pub folder: PathBuf,
}

/// NAME=D,D: names may have '=' in them, dimensions have none.
fn shape(text: &str) -> Result<(String, Dims), String> {
    let (name, dims) = text.rsplit_once('=').ok_or("give NAME=D,D,... as in x=1,224,224,3")?;
    let dims = if dims.is_empty() { Ok(Vec::new()) } else { dims.split(',').map(dimension).collect() };
    Ok((name.to_owned(), Dims(dims?)))
}

fn numbered_shape(text: &str) -> Result<(u32, Dims), String> {
    let (number, dims) = shape(text).map_err(|error| error.replace("NAME=", "N=").replace("x=", "0="))?;
    let number =
        number.parse().map_err(|_| format!("'{number}' is no number of an input: give N=D,D,... as in 0=1,224"))?;
    Ok((number, dims))
}

fn dimension(text: &str) -> Result<i64, String> {
    match text.trim().parse() {
        Ok(dim) if dim >= 0 => Ok(dim),
        _ => Err(format!("'{text}' is no dimension: give numbers of 0 or more, as in x=1,224,224,3")),
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("give KEY=VALUE, as in tflite.xnnpack=false")?;
    Ok((key.to_owned(), value.to_owned()))
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("give seconds from 0.01 to 3600".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn shapes() {
        assert_eq!(shape("x=1,2").unwrap().1.0, [1, 2]);
        assert_eq!(shape("a=b=3").unwrap(), ("a=b".to_owned(), Dims(vec![3])));
        assert!(shape("scalar=").unwrap().1.0.is_empty());
        for bad in ["x", "x=a", "x=-1", "x=1,", "x=99999999999999999999"] {
            assert!(shape(bad).is_err(), "{bad}");
        }
    }
}
