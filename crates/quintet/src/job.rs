//! What part this process has in a job.

use crate::{Code, Error, LinkAddress, identified};
use std::ffi::OsString;

/// The worker's number.
const RANK: &str = "QUINTET_RANK";
/// How many workers the job has.
const WORKERS: &str = "QUINTET_WORKERS";
/// Where this process can be reached by those on other machines of the job, at a port that it is given.
const LISTEN: &str = "QUINTET_LISTEN";
/// What this machine proves itself with.
const IDENTITY: &str = "QUINTET_IDENTITY";

/// What `quintet run` looks for in an executable: a program that asks for its rank is its job's worker as well as its master.
/// It is the name of the function by which programs in C ask, which stands in theirs.
#[used]
static ASKS_FOR_ITS_RANK: [u8; 17] = *b"quintet_job_rank\0";

/// What part this process has in a job of `quintet run`: master or worker. Alone it is a master without workers.
///
/// `quintet run -n 4 ./program` starts a program that asks for this five times: as the master, and as the workers 0 to 3.
///
/// ```
/// use quintet::{Job, Lab};
///
/// let (job, lab) = (Job::from_environment()?, Lab::from_environment()?);
/// match job.rank {
///     Some(rank) => println!("a worker: takes tasks, and has the number {rank}"),
///     None => println!("the master of {} workers: puts tasks and takes results", job.workers),
/// }
/// # Ok::<(), quintet::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job {
    /// This worker's number, from 0; none for the master.
    pub rank: Option<u32>,
    /// How many workers the job has; 0 where there is no job.
    pub workers: u32,
}

impl Job {
    /// What the environment says (`QUINTET_RANK`, `QUINTET_WORKERS`).
    ///
    /// # Errors
    /// [`Code::BadValue`] for what is no number.
    pub fn from_environment() -> Result<Job, Error> {
        // Read here, it is in every program that asks, and in no other.
        std::hint::black_box(&ASKS_FOR_ITS_RANK);
        Job::of(|name| std::env::var_os(name))
    }

    fn of(environment: impl Fn(&str) -> Option<OsString>) -> Result<Job, Error> {
        let number = |name: &str| {
            let Some(text) = environment(name) else { return Ok(None) };
            let number = text.to_str().and_then(|text| text.parse().ok());
            number.map(Some).ok_or_else(|| {
                Error::new(
                    Code::BadValue,
                    format!("environment variable {name}: it is {text:?}, expected a number"),
                )
            })
        };
        Ok(Job { rank: number(RANK)?, workers: number(WORKERS)?.unwrap_or(0) })
    }
}

/// Where this process listens for those on other machines of its job, if it has any.
///
/// # Errors
/// [`Code::BadValue`] for what is no address; this machine's identity cannot be read.
pub(crate) fn listens_at() -> Result<Option<LinkAddress>, Error> {
    listens_at_of(&|name| std::env::var_os(name))
}

fn listens_at_of(environment: &dyn Fn(&str) -> Option<OsString>) -> Result<Option<LinkAddress>, Error> {
    let Some(text) = environment(LISTEN) else { return Ok(None) };
    let address = text.to_string_lossy().parse::<LinkAddress>();
    let address = address
        .map_err(|error| Error::new(Code::BadValue, format!("environment variable {LISTEN}: {error}")))?;
    let identity = environment(IDENTITY).unwrap_or_default();
    identified(address, &identity.to_string_lossy(), environment).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(rank: Option<&str>, workers: Option<&str>) -> Result<Job, Error> {
        Job::of(|name| if name == RANK { rank } else { workers }.map(OsString::from))
    }

    #[test]
    fn masters_have_no_rank_and_alone_there_are_no_workers() {
        assert_eq!(job(None, None), Ok(Job { rank: None, workers: 0 }));
        assert_eq!(job(None, Some("4")), Ok(Job { rank: None, workers: 4 }));
        assert_eq!(job(Some("3"), Some("4")), Ok(Job { rank: Some(3), workers: 4 }));
    }

    #[test]
    fn what_is_no_number_is_named() {
        for (rank, workers, name) in
            [(Some("-1"), None, RANK), (None, Some("many"), WORKERS), (Some(""), None, RANK)]
        {
            let error = job(rank, workers).expect_err("no number");
            assert!(error.code() == Code::BadValue && error.text().contains(name), "{error}");
        }
    }

    #[test]
    fn where_a_worker_listens_is_an_address() {
        let of =
            |text: Option<&str>| listens_at_of(&|name| text.filter(|_| name == LISTEN).map(OsString::from));
        assert!(of(None).expect("nothing is said").is_none());
        let said = of(Some("tcp:127.0.0.1:0")).expect("an address");
        assert_eq!(said.expect("it is said").to_string(), "tcp:127.0.0.1:0");
        let error = of(Some("tls:nowhere")).expect_err("it has no port");
        assert!(error.code() == Code::BadValue && error.text().contains(LISTEN), "{error}");
    }
}
