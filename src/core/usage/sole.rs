//! A tensor that one context uses and nobody else: its runs need not say each time that they use it.
//!
//! A run announces that it is in progress, then looks whether somebody has disturbed its context, and if so, whether its
//! tensors are still its own. Whoever else wants a tensor announces that it is shared, disturbs the context, and looks
//! whether a run of that is in progress. One of the two sees the other. Once shared, a tensor stays so.

use std::sync::{Arc, Weak};

use super::Access;
use crate::core::stop::Stop;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, announce, lock, see_ended_runs};

/// A context as the only user of a tensor, and how it uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(u64);

impl Token {
    /// Of one that is not the only user.
    pub const NONE: Token = Token(0);

    fn new(stop: &Stop, access: Access) -> Token {
        Token(stop.id() << 1 | u64::from(access == Access::Write))
    }

    fn access(self) -> Access {
        if self.0 & 1 == 1 { Access::Write } else { Access::Read }
    }
}

const FREE: u64 = 1;
const SHARED: u64 = u64::MAX;
const BEING_SHARED: u64 = SHARED - 1;

#[derive(Debug)]
pub struct Sole {
    /// A token, or one of the three.
    user: AtomicU64,
    /// Something in `lingering`.
    lingers: AtomicBool,
    details: Mutex<Details>,
}

#[derive(Debug, Default)]
struct Details {
    user: Weak<Stop>,
    /// A run that was in progress when the tensor became shared.
    lingering: Option<Run>,
}

#[derive(Debug)]
struct Run {
    context: Weak<Stop>,
    number: u64,
    access: Access,
}

impl Run {
    fn is_over(&self) -> bool {
        match self.context.upgrade() {
            Some(stop) => stop.current() != Some(self.number),
            None => {
                // Acquire: its last run is over for us too
                see_ended_runs();
                true
            }
        }
    }
}

impl Sole {
    pub fn new() -> Sole {
        Sole { user: AtomicU64::new(FREE), lingers: AtomicBool::new(false), details: Mutex::default() }
    }

    /// Makes a context that is running the only user, if nobody else is a user yet.
    pub fn claim(&self, stop: &Arc<Stop>, access: Access) -> Token {
        let token = Token::new(stop, access);
        if self.is(token) {
            return token;
        }
        let mut details = lock(&self.details);
        let user = self.user.load(Ordering::Relaxed);
        if user != FREE && user >> 1 != stop.id() {
            return Token::NONE;
        }
        details.user = Arc::downgrade(stop);
        self.user.store(token.0, Ordering::Relaxed);
        token
    }

    /// To be asked by a run that is announced. What is its own needs no start and no end.
    #[inline]
    pub fn is(&self, token: Token) -> bool {
        self.user.load(Ordering::SeqCst) == token.0
    }

    /// A run says that it is going to start and end its use as others do: it is not in its own way, nor in that of others
    /// before it starts.
    pub fn give_up(&self, stop: &Arc<Stop>) {
        self.leave(stop, SHARED);
    }

    /// A context has nothing to do with the tensor any more.
    pub fn give_back(&self, stop: &Arc<Stop>) {
        self.leave(stop, FREE);
    }

    fn leave(&self, stop: &Arc<Stop>, user: u64) {
        let seen = self.user.load(Ordering::Acquire);
        let is_mine = seen >> 1 == stop.id();
        if !is_mine && seen != BEING_SHARED && !self.lingers.load(Ordering::Acquire) {
            return;
        }
        let mut details = lock(&self.details);
        if self.user.load(Ordering::Relaxed) >> 1 == stop.id() {
            self.user.store(user, Ordering::Release);
        }
        let is_own = |run: &mut Run| std::ptr::eq(run.context.as_ptr(), Arc::as_ptr(stop));
        if details.lingering.take_if(is_own).is_some() {
            self.lingers.store(false, Ordering::Release);
        }
    }

    /// Whether somebody else than the only user may have it now.
    #[inline]
    pub fn admits(&self, access: Access) -> bool {
        if self.user.load(Ordering::Acquire) != SHARED {
            self.share();
        }
        !self.lingers.load(Ordering::Acquire) || self.admits_beside(access)
    }

    /// Somebody else than the only user, if there is one, has to do with it from now on.
    #[cold]
    pub fn share(&self) {
        let mut details = lock(&self.details);
        if self.user.load(Ordering::Relaxed) == SHARED {
            return;
        }
        let before = announce(&self.user, BEING_SHARED);
        let context = std::mem::take(&mut details.user);
        let running = context.upgrade().and_then(|stop| stop.disturb());
        see_ended_runs();
        if let (true, Some(number)) = (before != FREE, running) {
            details.lingering = Some(Run { context, number, access: Token(before).access() });
            self.lingers.store(true, Ordering::Relaxed);
        }
        // Release: whoever sees this sees what lingers
        self.user.store(SHARED, Ordering::Release);
    }

    #[cold]
    fn admits_beside(&self, access: Access) -> bool {
        let mut details = lock(&self.details);
        if details.lingering.take_if(|run| run.is_over()).is_some() {
            self.lingers.store(false, Ordering::Release);
        }
        let both_read = |run: &Run| run.access == Access::Read && access == Access::Read;
        details.lingering.as_ref().is_none_or(both_read)
    }
}
