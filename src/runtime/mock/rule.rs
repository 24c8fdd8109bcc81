//! What is to happen at which step.

use std::time::Duration;

use super::gate;
use super::mischief::Mischief;
use crate::base::{Error, Result, Status, log};

/// A step of an engine's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Open,
    Context,
    Plan,
    Attach,
    Run,
    Finish,
    Output,
    Reset,
    ContextDrop,
    ModelDrop,
}

impl Stage {
    pub const ALL: &'static [(&'static str, Stage)] = &[
        ("open", Stage::Open),
        ("context", Stage::Context),
        ("plan", Stage::Plan),
        ("attach", Stage::Attach),
        ("run", Stage::Run),
        ("finish", Stage::Finish),
        ("output", Stage::Output),
        ("reset", Stage::Reset),
        ("context-drop", Stage::ContextDrop),
        ("model-drop", Stage::ModelDrop),
    ];
}

#[derive(Clone, Debug)]
pub enum Action {
    Panic(String),
    Fail(Status, String),
    Sleep(Duration),
    Log(log::Level, String),
    Slowly,
    Wait(String),
    Await(String),
    Open(String),
    Do(Mischief),
}

/// An action at a stage, at some of the times that the stage is reached.
#[derive(Clone, Debug)]
pub struct Rule {
    pub stage: Stage,
    pub action: Action,
    pub first: u32,
    pub last: u32,
}

/// The rules of one engine object, and how often it reached each stage.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub list: Vec<Rule>,
    reached: [u32; Stage::ALL.len()],
}

impl Rules {
    pub fn new(list: Vec<Rule>) -> Rules {
        Rules { list, reached: Default::default() }
    }

    /// Does what is to be done at a stage.
    pub fn reach(&mut self, stage: Stage) -> Result<()> {
        let time = &mut self.reached[stage as usize];
        *time += 1;
        let time = *time;
        self.list.iter().filter(|rule| rule.is_due(stage, time)).try_for_each(|rule| rule.action.act())
    }

    /// Whether the stage goes slowly this time.
    pub fn is_slow(&self, stage: Stage) -> bool {
        let time = self.reached[stage as usize];
        self.list.iter().any(|rule| rule.is_due(stage, time) && matches!(rule.action, Action::Slowly))
    }
}

impl Rule {
    fn is_due(&self, stage: Stage, time: u32) -> bool {
        self.stage == stage && (self.first..=self.last).contains(&time)
    }
}

impl Action {
    fn act(&self) -> Result<()> {
        match self {
            // a second panic while the first unwinds would end the process
            Action::Panic(_) if std::thread::panicking() => {}
            Action::Panic(text) => panic!("{text}"),
            Action::Fail(status, text) => return Err(Error::new(*status, text.clone())),
            Action::Sleep(time) => std::thread::sleep(*time),
            Action::Log(level, text) => log::emit(*level, text),
            Action::Slowly => {}
            Action::Wait(name) => gate::wait(name),
            Action::Await(name) => gate::await_somebody(name),
            Action::Open(name) => gate::open(name),
            Action::Do(mischief) => mischief.act(),
        }
        Ok(())
    }
}
