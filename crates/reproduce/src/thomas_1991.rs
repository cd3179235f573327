//! A vector processor served over a network (Thomas, 1991): tables 6.2 to 6.7, simulated again.
//!
//! An application's calls of a vector processor's library go to a compute server, call by call (*RPC*), or the application
//! itself runs there (*REXEC*), over TCP or UDP, Ethernet or FDDI. Each host is two processing elements, application
//! and transport. A batch program adds two vectors; a real-time one reads a buffer pool again and again.
//!
//! Appendix A gives the elements' parameters (`given.rs`). What it does not give is inferred once, from the rows with
//! Ethernet, TCP and a server of 16 MIPS (`inferred.rs`); all other rows are predictions. Cells that contradict what else
//! is printed are set aside first (`set_aside.rs`). `docs/reproductions/thomas-1991.md` tells what came out.
//!
//! | file | holds |
//! | --- | --- |
//! | `case.rs` | [`Case`]: what one row simulates |
//! | `given.rs`, `inferred.rs` | parameters |
//! | `setting.rs`, `machines.rs` | [`Setting`]: what the study held fixed, such as one client |
//! | `element.rs`, `lan.rs` | the processing elements, and the network |
//! | `plant.rs`, `running.rs` | the elements and the modules on them; the same at work |
//! | `transport.rs` | a message's way from one application to the other |
//! | `realtime.rs`, `batch.rs` | the two applications |
//! | `driver.rs` | both, by the model that the study did not build |
//! | `simulate.rs` | a row's run, and what comes out |
//! | `tables.rs` | the printed rows and which cells they have |
//! | `set_aside.rs`, `misses.rs` | why cells are not compared, and why others are missed |
//! | `naive.rs` | what copying the fitted rows would predict |
//! | `parameters.rs` | the inferred parameters by name, and how much rests on each |
//! | `fit.rs` | how these were inferred, from several starts |
//! | `what_if.rs` | the questions that the study left open |

mod batch;
mod case;
mod driver;
mod element;
mod fit;
mod given;
mod inferred;
mod lan;
mod machines;
mod misses;
mod naive;
mod parameters;
mod plant;
mod realtime;
mod running;
mod set_aside;
mod setting;
mod simulate;
mod tables;
mod transport;
pub mod what_if;

pub use case::{Application, Case, Lan, Model, Transport};
pub use fit::fit;
pub use inferred::Inferred;
pub use machines::Machines;
pub use parameters::{PARAMETERS, Parameter, sensitivities};
pub use setting::{Encoding, Setting};
pub use simulate::{Outcome, simulate};

use crate::cell::{Cell, Column, Role};
use crate::report::Report;
use tables::Printed;

/// Simulates every row with so many seeds, and compares the means with what is printed.
#[must_use]
pub fn reproduce(seeds: u64) -> Report {
    reproduce_with(&Inferred::FITTED, seeds, |_| true)
}

/// The same with other inferred parameters, for the rows that `chosen` picks.
#[must_use]
pub fn reproduce_with(inferred: &Inferred, seeds: u64, chosen: impl Fn(&Case) -> bool) -> Report {
    let mut report = Report::new("thomas-1991", seeds);
    for printed in tables::all().into_iter().filter(|printed| chosen(&printed.case)) {
        let mean = Outcome::mean_of(&printed.case, inferred, seeds);
        report.digest = report.digest.rotate_left(5) ^ mean.digest;
        report.cells.extend(cells(&printed, &mean));
    }
    report
}

/// The printed row's cells.
fn cells(printed: &Printed, mean: &Outcome) -> Vec<Cell> {
    let role = if printed.case.is_fitted() { Role::Fitted } else { Role::Predicted };
    let cell = |&(table, column, published): &(&'static str, Column, f64)| {
        let row = printed.case.to_string();
        let ours = mean.value(&printed.case, column.name());
        let set_aside = set_aside::why(&printed.case, column);
        let naive = naive::copied(&printed.case, column);
        let mut cell = Cell { table, row, column, published, ours, naive, role, set_aside, miss: None };
        if cell.within() == Some(false) {
            cell.miss = misses::why(&printed.case, column);
        }
        cell
    };
    printed.cells.iter().map(cell).collect()
}
