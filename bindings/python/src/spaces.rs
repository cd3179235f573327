//! Named spaces that are created if they are not there.

use crate::error::raise;
use pyo3::PyResult;
use quintet::{Code, Error, Lab, Policy, Space, SpaceSettings};

/// A policy as Python names it.
///
/// # Errors
/// `BadValue`: it is none.
pub(crate) fn to_policy(policy: &str) -> PyResult<Policy> {
    policy.parse().map_err(|text| raise(Error::new(Code::BadValue, text)))
}

/// The space of this name with this policy, which is created if there is none of the name.
///
/// # Errors
/// `SpaceExists`: it has another policy. As `Lab::create_space`, and `Lab::named_space`.
pub(crate) fn with_policy(lab: &Lab, name: &str, policy: Policy) -> Result<Space, Error> {
    match lab.create_space(name, &SpaceSettings { policy, ..SpaceSettings::default() }) {
        Err(error) if error.code() == Code::SpaceExists && has_policy(lab, name, policy)? => {
            lab.named_space(name)
        }
        created => created,
    }
}

/// Whether there is a space of this name, perhaps with other limits and rights, that has this policy.
fn has_policy(lab: &Lab, name: &str, policy: Policy) -> Result<bool, Error> {
    if let Some(kept) = lab.kept_spaces()?.into_iter().find(|space| space.name == name) {
        return Ok(kept.policy == policy);
    }
    let spaces = lab.spaces()?;
    let there = spaces.iter().find(|space| space.name.as_str() == name).map(|space| space.settings.policy);
    // A server keeps all its spaces in one way, also those that are asked for as volatile.
    Ok(there.is_some_and(|there| there == policy || policy == Policy::Volatile))
}
