//! What waiting costs: the processor time of a member of an isonet that does nothing.

use super::super::case::{Better, Case, Group, Unit};
use super::super::link::{Over, share};
use super::net::Net;
use super::{PLACEMENT, WAITING};

const MEMBERS: u16 = 4;
/// Of a processor.
const GOAL: f64 = 0.01;

pub(super) fn cases() -> Vec<Case> {
    let prepare = || {
        let net = Net::start(Over::Shm, MEMBERS)?;
        Ok(net.rounds(|net| share(net.process(1))))
    };
    let case = Case::new(Group::Isotach, "isonet-idle", Unit::Share, Better::Lower, prepare);
    vec![case.goal(GOAL).under(WAITING, PLACEMENT).on_all_processors()]
}
