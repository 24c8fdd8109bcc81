//! The `zerobind` command: what engines are here, what a model is, running it on files, measuring it.
//!
//! It uses the library by its C ABI, as any host does (`abi`); everything else here is safe code but for two system
//! calls (`sys`) and the counting of allocations. `docs/tool.md` is the manual.

mod abi;
mod bench;
mod check;
mod cli;
mod doctor;
mod failure;
mod files;
mod inspect;
mod man;
mod npy;
mod print;
mod run;
mod session;
mod text;

use clap::Parser;

use cli::{Cli, Command};
use failure::{Exit, Failure};

#[global_allocator]
static ALLOCATOR: bench::allocations::Counting = bench::allocations::Counting;

fn main() -> std::process::ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return print::usage(&error),
    };
    match run(&cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            print::failure(&failure);
            failure.exit.into()
        }
    }
}

fn run(cli: &Cli) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Doctor(options) => doctor::doctor(options),
        Command::Check(options) => check::check(options),
        Command::Inspect(options) => inspect::inspect(options).map(|()| Exit::Success),
        Command::Run(options) => run::run(options).map(|()| Exit::Success),
        Command::Bench(options) => bench::bench(options).map(|()| Exit::Success),
        Command::Man(options) => man::write(options).map(|()| Exit::Success),
    }
}
