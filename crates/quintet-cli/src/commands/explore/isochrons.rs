//! `quintet explore isotach`: isochrons, their switches, and views that end.

use super::Arguments;
use super::system::{self, Named};
use quintet::Error;
use quintet_explore::isochrons::{Delivery, Isochrons, Isonets};
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

/// The same of whole members, as live isonets have them.
///
/// # Errors
/// As [`run`].
pub(super) fn run_members(arguments: &Arguments) -> Result<ExitCode, Error> {
    let command = "quintet explore isotach --members".to_owned();
    let named = Named { name: "members", command, field: ("of", "members") };
    system::run(arguments, &named, &members(arguments)?)
}

#[cfg(not(feature = "seeded-defects"))]
#[expect(clippy::unnecessary_wraps, reason = "there are names to be wrong where there are defects")]
fn members(_arguments: &Arguments) -> Result<Isonets, Error> {
    Ok(Isonets::default())
}

#[cfg(feature = "seeded-defects")]
fn members(arguments: &Arguments) -> Result<Isonets, Error> {
    let members = Isonets::default();
    let Some(name) = &arguments.defect else { return Ok(members) };
    defect(name).map(|defect| members.with_defect(defect))
}

#[cfg(not(feature = "seeded-defects"))]
#[expect(clippy::unnecessary_wraps, reason = "there are names to be wrong where there are defects")]
fn isochrons(_arguments: &Arguments, delivery: Delivery) -> Result<Isochrons, Error> {
    Ok(Isochrons::new(delivery))
}

#[cfg(feature = "seeded-defects")]
fn isochrons(arguments: &Arguments, delivery: Delivery) -> Result<Isochrons, Error> {
    let isochrons = Isochrons::new(delivery);
    let Some(name) = &arguments.defect else { return Ok(isochrons) };
    defect(name).map(|defect| isochrons.with_defect(defect))
}

#[cfg(feature = "seeded-defects")]
fn defect(name: &str) -> Result<quintet_explore::isochrons::Defect, Error> {
    use quintet::Code;
    use quintet_explore::isochrons::Defect;
    Defect::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Defect::all().map(Defect::name).collect();
        Error::new(Code::BadValue, format!("--defect {name}: isochrons have {}", names.join(", ")))
    })
}
