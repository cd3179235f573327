//! `quintet explore isotach`: isochrons, their switches, and views that end.

use super::Arguments;
use super::system::{self, Named};
use quintet::Error;
use quintet_explore::isochrons::{Delivery, Isochrons};
use std::process::ExitCode;

/// # Errors
/// A name that is no defect of isochrons; a file that is no schedule; an interrupt before a rule was broken.
pub(super) fn run(arguments: &Arguments, delivery: Delivery) -> Result<ExitCode, Error> {
    let name = match delivery {
        Delivery::Safe => "safe",
        Delivery::Agreed => "agreed",
    };
    let command = match delivery {
        Delivery::Safe => "quintet explore isotach".to_owned(),
        Delivery::Agreed => "quintet explore isotach --delivery agreed".to_owned(),
    };
    let named = Named { name: "isotach", command, field: ("delivery", name) };
    system::run(arguments, &named, &isochrons(arguments, delivery)?)
}

#[cfg(not(feature = "seeded-defects"))]
#[expect(clippy::unnecessary_wraps, reason = "there are names to be wrong where there are defects")]
fn isochrons(_arguments: &Arguments, delivery: Delivery) -> Result<Isochrons, Error> {
    Ok(Isochrons::new(delivery))
}

#[cfg(feature = "seeded-defects")]
fn isochrons(arguments: &Arguments, delivery: Delivery) -> Result<Isochrons, Error> {
    use quintet::Code;
    use quintet_explore::isochrons::Defect;
    let isochrons = Isochrons::new(delivery);
    let Some(name) = &arguments.defect else { return Ok(isochrons) };
    if let Some(defect) = Defect::from_name(name) {
        return Ok(isochrons.with_defect(defect));
    }
    let names: Vec<&str> = Defect::all().map(Defect::name).collect();
    Err(Error::new(Code::BadValue, format!("--defect {name}: isochrons have {}", names.join(", "))))
}
