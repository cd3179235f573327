//! Which cluster a command means.

use crate::commands::identity::{environment, refused};
use clap::Args;
use quintet::{Code, Error};
use std::path::{Path, PathBuf};

/// Which cluster.
#[derive(Args)]
pub(crate) struct ClusterName {
    /// The cluster, by its name or, with a slash in it, the path of its folder; else that of QUINTET_IDENTITY, or the only one that this user has
    #[arg(value_name = "CLUSTER")]
    name: Option<String>,
}

impl ClusterName {
    /// Its folder.
    pub(crate) fn folder(&self) -> Result<PathBuf, Error> {
        folder(self.name.as_deref())
    }
}

/// The folder of the cluster of that name; else as [`folder`]. None if nothing names one, and this machine belongs to none.
pub(crate) fn chosen(name: Option<&str>) -> Result<Option<PathBuf>, Error> {
    match folder(name) {
        Ok(folder) if name.is_some() || folder.join(quintet_agent::Record::FILE).is_file() => {
            Ok(Some(folder))
        }
        // The identity that the environment names is that of no agent.
        Ok(_) => Ok(None),
        // Without a home there are no clusters either.
        Err(_) if name.is_none() && all().map_or(true, |clusters| clusters.is_empty()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The folder of the cluster of that name; else of the one that the environment names; else of the only one.
pub(crate) fn folder(name: Option<&str>) -> Result<PathBuf, Error> {
    let named = name.map(str::to_owned).or_else(|| {
        let set = environment("QUINTET_IDENTITY").filter(|set| !set.is_empty());
        set.map(|set| set.to_string_lossy().into_owned())
    });
    let place = match named {
        Some(name) => quintet_identity::place(&name, &environment).map_err(refused)?,
        None => only_one()?,
    };
    std::path::absolute(&place).map_err(crate::connection::refused("find the cluster's folder"))
}

/// Beside a cluster of any name lie the others.
fn home() -> Result<PathBuf, Error> {
    let any = quintet_identity::place("any", &environment).map_err(refused)?;
    Ok(any.parent().unwrap_or(Path::new("/")).to_owned())
}

/// The folders of all clusters to which this machine belongs.
fn all() -> Result<Vec<PathBuf>, Error> {
    let found = std::fs::read_dir(home()?).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut clusters: Vec<PathBuf> =
        found.filter(|path| path.join(quintet_agent::Record::FILE).is_file()).collect();
    clusters.sort();
    Ok(clusters)
}

fn only_one() -> Result<PathBuf, Error> {
    let clusters = all()?;
    let text = match &clusters[..] {
        [one] => return Ok(one.clone()),
        [] => format!(
            "this machine belongs to no cluster ({} has none): make one with quintet init NAME, or join one with quintet join",
            home()?.display()
        ),
        several => {
            let names: Vec<_> = several
                .iter()
                .filter_map(|path| path.file_name())
                .map(|name| name.to_string_lossy())
                .collect();
            format!("this machine belongs to several clusters: name one of {}", names.join(", "))
        }
    };
    Err(Error::new(Code::BadValue, text))
}
