//! The manual pages, made from the same definitions as the help.

use clap::CommandFactory;

use crate::cli::{Cli, Man};
use crate::failure::{Failure, Result};

pub fn write(options: &Man) -> Result<()> {
    let failed = |error: std::io::Error| Failure::file(&options.folder, "the manual pages cannot be written", &error);
    std::fs::create_dir_all(&options.folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), &options.folder).map_err(failed)
}
