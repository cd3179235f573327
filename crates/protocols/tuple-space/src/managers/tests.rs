//! Routers and managers together, on a network whose every order is drawn.

mod collecting;
mod further;
mod hot_keys;
mod links;
mod network;
mod random_runs;
mod rules;
mod together;
mod watched_runs;
mod watches;
