//! What a failed run means.

use super::failure::Failure;
use super::model::Slots;
use super::ports::Ports;
use crate::base::{Error, Status};

pub fn explain(failure: Failure, _slots: &Slots, _outputs: &Ports) -> Error {
    failure.or(Status::Runtime)
}
