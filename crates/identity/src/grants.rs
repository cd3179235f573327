//! What a token allows who uses it.

use core::fmt;
use core::str::FromStr;

/// What a token allows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Grants {
    /// Becoming a member of the cluster.
    pub join: bool,
    /// Starting programs on other machines.
    pub run: bool,
    /// Sending functions, which others unpickle and so run.
    pub code: bool,
}

/// A word that grants nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantsError {
    /// The word.
    pub word: String,
}

impl fmt::Display for GrantsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GrantsError { word } = self;
        write!(
            f,
            "{word:?} is nothing that a token allows: write join, run, code, or several of them with commas between"
        )
    }
}

impl core::error::Error for GrantsError {}

impl Grants {
    /// Joining, and nothing more: what a token allows that is not told otherwise.
    pub const JOIN: Grants = Grants { join: true, run: false, code: false };

    /// The words for what is allowed.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        let Grants { join, run, code } = self;
        let words = [(join, "join"), (run, "run"), (code, "code")];
        words.into_iter().filter(|(is_granted, _)| *is_granted).map(|(_, word)| word).collect()
    }

    /// What these words allow together.
    ///
    /// # Errors
    /// [`GrantsError`]: the first word that allows nothing.
    pub fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Grants, GrantsError> {
        let mut grants = Grants::default();
        for word in words {
            match word {
                "join" => grants.join = true,
                "run" => grants.run = true,
                "code" => grants.code = true,
                _ => return Err(GrantsError { word: word.chars().take(100).collect() }),
            }
        }
        Ok(grants)
    }
}

impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(","))
    }
}

impl FromStr for Grants {
    type Err = GrantsError;

    fn from_str(text: &str) -> Result<Grants, GrantsError> {
        Grants::of(text.split(','))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_read_as_they_are_written() {
        for n in 1..8 {
            let grants = Grants { join: n & 1 != 0, run: n & 2 != 0, code: n & 4 != 0 };
            assert_eq!(grants.to_string().parse(), Ok(grants));
        }
        for bad in ["", "join,", "Join", "join run", "all"] {
            let error = bad.parse::<Grants>().expect_err("no such grant");
            assert!(error.to_string().contains("write join, run, code"), "{error}");
        }
    }
}
