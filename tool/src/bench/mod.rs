//! `zerobind bench`: how long a model takes, and what copies in and out would add.

pub mod allocations;
mod data;
mod histogram;
mod html;
mod measure;
mod rig;
mod stats;
mod summary;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::Bench;
use crate::failure::Result;
use crate::files::{Draft, Identity, Target};
use crate::print;
use crate::session::{self, Session, Side};
use data::Source;
use rig::Rig;
use summary::Summary;

/// Steps of the progress bar.
const STEPS: u64 = 1000;

pub fn bench(options: &Bench) -> Result<()> {
    let session = Session::open(&options.common, false)?;
    let files = session.assignments(Side::Input, &options.inputs)?;
    let page = options.html.as_deref().map(Target::new).transpose()?;
    if let Some(page) = &page {
        let model = Identity::of(&options.common.model);
        let inputs: Vec<_> = files.iter().filter_map(|(_, path)| Identity::of(path)).collect();
        let read = inputs.iter().map(|identity| ("read as an input", identity));
        page.check_alone(read.chain(model.iter().map(|identity| ("the model", identity))))?;
    }
    let source = Source { files, seed: options.seed };
    let bar = progress_bar();

    let context = session::new_context(&session.model, &options.common, false, true)?;
    let mut rig = Rig::new(&session, context, &source)?;
    let measured =
        measure::alternate(&mut rig, options.seconds, |share| bar.set_position((share * STEPS as f64) as u64))?;
    bar.finish_and_clear();

    let summary = Summary::new(&session, options, &rig, &measured);
    if let Some(page) = page {
        let mut draft = Draft::new(page)?;
        draft.write(html::page(&summary).as_bytes())?;
        draft.publish()?;
    }
    if options.common.json { print::json(&summary) } else { print::text(&summary.prose(&session)) }
}

/// On standard error if that is a terminal, else nowhere.
fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("measuring [{bar:40}] {percent:>3} %");
    let bar = ProgressBar::new(STEPS);
    match style {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}
