//! Whether new addresses are the rule.

use crate::base::hint::unlikely;

/// So many new addresses in a row, and they are the rule.
pub const RULE: u32 = 128;

/// Of so many then, one is remembered, and waited for as long. A prime, so that each one of those that come in some rhythm has
/// its turn; and enough for a ring of as many as are kept, with a new one after each.
pub const SPAN: u32 = 127;

/// What came lately.
pub struct Lately {
    /// One of the addresses that were new, which is waited for.
    awaited: usize,
    /// How many new ones came in a row; from `RULE` on, it goes around.
    strangers: u32,
    /// The position of a value that was given away, as `Cache::given` has it: there is room for it in this line.
    given: u32,
}

/// No position.
const NOWHERE: u32 = u32::MAX - 1;

impl Lately {
    pub const NOTHING: Lately = Lately { awaited: 0, strangers: 0, given: NOWHERE };

    /// Whether the address is new, as far as can be said without a look at those that are known.
    #[inline]
    pub fn is_new(&mut self, address: usize) -> bool {
        if unlikely(self.strangers < RULE || address == self.awaited) {
            return false;
        }
        self.strangers += 1;
        if unlikely(self.strangers == RULE + SPAN) {
            self.wait_for(address);
        }
        true
    }

    fn wait_for(&mut self, address: usize) {
        (self.awaited, self.strangers) = (address, RULE);
    }

    /// One was found to be new.
    pub fn add(&mut self, address: usize) {
        self.strangers += 1;
        if self.strangers == RULE {
            self.wait_for(address);
        }
    }

    /// Whether what is not known is new as a rule.
    pub fn are_new(&self) -> bool {
        self.strangers >= RULE
    }

    /// One came that is known.
    pub fn end(&mut self) {
        self.strangers = 0;
    }

    #[inline]
    pub fn give(&mut self, position: usize) {
        self.given = position as u32;
    }

    pub fn given(&self) -> Option<usize> {
        (self.given != NOWHERE).then_some(self.given as usize)
    }

    pub fn forget_given(&mut self) {
        self.given = NOWHERE;
    }
}
