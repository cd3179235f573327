//! Updates of shared variables that nobody comes in between: read, computed, written.

use super::error::would_wait_for_itself;
use super::host::Isonet;
use crate::{Bytes, Code, Error};
use quintet_isotach::Variable;

impl Isonet {
    /// Gives variables the values that `function` returns for what they have, in their order; nobody sees or changes them in between: who reads them waits for it. Gives the
    /// new values. If `function` fails or panics, they keep what they have. It runs on this thread, and is to be short.
    ///
    /// Two such updates never wait for each other in a circle, as all places of one are reserved at one instant: `function` is not to wait for what needs these variables. A
    /// member's own updates of a variable follow each other.
    ///
    /// # Errors
    /// What `function` fails with. [`IsonetCause::NoValue`](crate::IsonetCause): a variable had no value; then it is zeros. [`Code::BadValue`]: no variable, one twice or one that there is not; more
    /// or fewer values, or of another size; a handler would wait for itself. Otherwise as [`Isochron::execute`](super::Isochron::execute), but for `ViewChanged`: it is begun again.
    pub fn update(
        &self,
        variables: &[Variable],
        function: impl FnOnce(&[Bytes]) -> Result<Vec<Bytes>, Error>,
    ) -> Result<Vec<Bytes>, Error> {
        if self.core().board.is_poller() {
            return Err(would_wait_for_itself());
        }
        let reserved = self.maker().reserve(variables)?.finish()?;
        let had = reserved.values().iter().cloned().collect::<Result<Vec<Bytes>, _>>()?;
        let values = function(&had)?;
        reserved.assign(values.clone())?.finish()?;
        Ok(values)
    }

    /// Gives a variable a value if it has the expected one, and says whether it had.
    ///
    /// # Errors
    /// [`Code::BadValue`]: the expected value is of another size. As [`update`](Isonet::update).
    pub fn compare_and_swap(
        &self,
        variable: Variable,
        expected: &[u8],
        value: impl Into<Bytes>,
    ) -> Result<bool, Error> {
        let (value, mut had) = (value.into(), false);
        self.update(&[variable], |found| {
            let found = &found[0];
            if expected.len() != found.len() {
                let text = format!(
                    "variable {} has {} bytes, and the expected value {}",
                    variable.0,
                    found.len(),
                    expected.len()
                );
                return Err(Error::new(Code::BadValue, text));
            }
            had = found[..] == *expected;
            Ok(vec![if had { value } else { found.clone() }])
        })?;
        Ok(had)
    }
}
