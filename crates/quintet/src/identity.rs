//! Who this process proves to be over TLS.

use crate::Error;
use quintet_errors::Code;
use quintet_identity::IdentityError;
use quintet_link::{Credentials, LinkAddress};
use std::ffi::OsString;

/// The credentials of the identity of that name, or at that path: a text with a slash. A name is looked for where `quintet init` puts
/// it, as the environment says.
///
/// # Errors
/// [`Code::BadFile`], [`Code::NotAllowed`]: there is none, other users may read it, it has expired, or its parts do not belong together.
pub fn identity(setting: &str, environment: &dyn Fn(&str) -> Option<OsString>) -> Result<Credentials, Error> {
    let refused = |error: IdentityError| Error::new(error.code(), error.to_string());
    let place = quintet_identity::place(setting, environment).map_err(refused)?;
    let text = quintet_identity::read(&place).map_err(refused)?;
    Credentials::from_pem(&text)
        .map_err(|error| Error::new(Code::BadFile, format!("{}: {error}", place.display())))
}

/// The address, at which this process proves to be who the setting says, if the kind of link asks for that and anything is set.
///
/// # Errors
/// As [`identity`].
pub fn identified(
    address: LinkAddress,
    setting: &str,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<LinkAddress, Error> {
    if setting.is_empty() || !address.wants_identity() {
        return Ok(address);
    }
    let credentials = identity(setting, environment)?;
    Ok(address.identified(Some(&credentials)))
}
