//! `quintet explore tuple-space --placement logged`: spaces that outlive their server, and spaces of several managers.

use super::Arguments;
use super::system::{self, Named};
use quintet::Error;
use quintet_explore::spaces::{Placement, Spaces};
use std::process::ExitCode;

/// # Errors
/// A name that is no defect of the placement; a file that is no schedule; an interrupt before a rule was broken.
pub(super) fn run(arguments: &Arguments, placement: Placement) -> Result<ExitCode, Error> {
    let name = placement.name();
    let command = format!("quintet explore tuple-space --placement {name}");
    let named = Named { name, command, field: ("placement", name) };
    system::run(arguments, &named, &spaces(arguments, placement)?)
}

#[cfg(not(feature = "seeded-defects"))]
#[expect(clippy::unnecessary_wraps, reason = "there are names to be wrong where there are defects")]
fn spaces(_arguments: &Arguments, placement: Placement) -> Result<Spaces, Error> {
    Ok(Spaces::new(placement))
}

#[cfg(feature = "seeded-defects")]
fn spaces(arguments: &Arguments, placement: Placement) -> Result<Spaces, Error> {
    use quintet::Code;
    use quintet_explore::spaces::Defect;
    let Some(name) = &arguments.defect else { return Ok(Spaces::new(placement)) };
    let own: Vec<Defect> = Defect::all().filter(|defect| defect.placement() == placement).collect();
    if let Some(defect) = own.iter().find(|defect| defect.name() == name) {
        return Ok(Spaces::with_defect(*defect));
    }
    let names: Vec<&str> = own.into_iter().map(Defect::name).collect();
    let text =
        format!("--defect {name}: a space with --placement {} has {}", placement.name(), names.join(", "));
    Err(Error::new(Code::BadValue, text))
}
