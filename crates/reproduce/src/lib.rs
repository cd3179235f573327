//! Published studies simulated again from their own parameters, and compared with what was printed, cell by cell.
//!
//! A study is its printed tables (`published/`), a model on the simulated host, and a
//! report. What a study found is written up in `docs/reproductions/`.
//!
//! | file | holds |
//! | --- | --- |
//! | `cell.rs` | [`Cell`]: one printed value, ours, and how they compare |
//! | `report.rs` | [`Report`]: all cells of a study; `report/` prints it |
//! | `sensitivity.rs` | [`Sensitivity`]: how much rests on an inferred parameter |
//! | `start.rs` | [`Start`]: a fit anew, and how far several are from each other |
//! | `table.rs` | tables of `published/` |
//! | `parameter.rs` | [`Parameter`]: a number of a model, and where it is from |
//! | `page.rs` | what all pages for a browser have |
//! | `isotach_1_0.rs` | isochrons on the machines of Isotach 1.0, and far beyond them |
//! | `linda_lan.rs` | one packet against two in Linda-LAN, measured and simulated |
//! | `thomas_1991.rs` | a vector processor served over Ethernet and FDDI: read this first |
#![forbid(unsafe_code)]

mod cell;
pub mod isotach_1_0;
pub mod linda_lan;
mod page;
mod parameter;
mod report;
mod sensitivity;
mod start;
mod table;
pub mod thomas_1991;

pub use cell::{Cell, Column, Role};
pub use parameter::{Origin, Parameter};
pub use report::{Count, Predictor, Report, Scope};
pub use sensitivity::{Off, Sensitivity};
pub use start::{Start, spread};
