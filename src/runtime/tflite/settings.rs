//! The options of a context.

use crate::base::{Result, fail};
use crate::runtime::EngineOptions;

/// Names of the options of this engine.
pub const XNNPACK: &str = "tflite.xnnpack";
pub const OPTIMIZATION: &str = "optimization";

/// XNNPACK starts the threads at once, all of them, and does not survive when the system refuses one.
const MOST_THREADS: u32 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub threads: i32,
    pub xnnpack: Xnnpack,
}

/// Whether the delegate that makes most models several times faster is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Xnnpack {
    Off,
    /// If the library has it.
    Default,
    /// Asked for.
    On,
}

impl Settings {
    pub fn read(options: &EngineOptions) -> Result<Settings> {
        let threads = match options.threads.max(1) {
            threads @ 1..=MOST_THREADS => threads as i32,
            threads => return fail!(InvalidArgument, "{threads} threads: TFLite gets at most {MOST_THREADS}"),
        };
        let (mut wanted, mut optimized) = (None, true);
        for (key, value) in &options.settings {
            match key.as_str() {
                XNNPACK => wanted = Some(read_switch(value)?),
                OPTIMIZATION => optimized = read_optimization(value)?,
                _ => return fail!(NotFound, "TFLite has no option \"{key}\"; it has {XNNPACK} and {OPTIMIZATION}"),
            }
        }
        let xnnpack = match (wanted, optimized) {
            (Some(true), false) => {
                return fail!(
                    InvalidArgument,
                    "{OPTIMIZATION} = \"none\" turns off what {XNNPACK} = \"true\" turns on"
                );
            }
            (Some(true), true) => Xnnpack::On,
            (Some(false), _) | (None, false) => Xnnpack::Off,
            (None, true) => Xnnpack::Default,
        };
        Ok(Settings { threads, xnnpack })
    }

    /// The same context without the delegate, as for a rehearsal.
    pub fn plain() -> Settings {
        Settings { threads: 1, xnnpack: Xnnpack::Off }
    }
}

fn read_switch(value: &str) -> Result<bool> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => fail!(InvalidArgument, "{XNNPACK} = \"{value}\": it is \"true\" or \"false\""),
    }
}

/// TFLite has one step only: with the delegate or without.
fn read_optimization(value: &str) -> Result<bool> {
    match value {
        "none" => Ok(false),
        "basic" | "extended" | "all" => Ok(true),
        _ => fail!(InvalidArgument, "{OPTIMIZATION} = \"{value}\": it is \"none\", \"basic\", \"extended\" or \"all\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;

    fn read(settings: &[(&str, &str)]) -> Result<Xnnpack> {
        let settings = settings.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Settings::read(&EngineOptions { threads: 2, settings }).map(|settings| settings.xnnpack)
    }

    #[test]
    fn switches() {
        assert_eq!(read(&[]).unwrap(), Xnnpack::Default);
        assert_eq!(read(&[(XNNPACK, "true")]).unwrap(), Xnnpack::On);
        assert_eq!(read(&[(XNNPACK, "0")]).unwrap(), Xnnpack::Off);
        assert_eq!(read(&[(OPTIMIZATION, "none")]).unwrap(), Xnnpack::Off);
        assert_eq!(read(&[(OPTIMIZATION, "all"), (XNNPACK, "1")]).unwrap(), Xnnpack::On);
        let bad = [
            (vec![(XNNPACK, "yes")], Status::InvalidArgument),
            (vec![(OPTIMIZATION, "O3")], Status::InvalidArgument),
            (vec![(OPTIMIZATION, "none"), (XNNPACK, "1")], Status::InvalidArgument),
            (vec![("tflite.nothing", "1")], Status::NotFound),
        ];
        for (settings, status) in bad {
            assert_eq!(read(&settings).unwrap_err().status, status, "{settings:?}");
        }
    }
}
