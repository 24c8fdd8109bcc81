//! Every real model that the set-up brought passes, and quickly.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::super::check;

const MOST: u64 = 4 << 30;

/// All models below a folder.
fn models(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            models(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "tflite") {
            found.push(path);
        }
    }
}

fn all_models() -> Vec<PathBuf> {
    let folder = std::env::var_os("ZB_TEST_MODELS").expect("ZB_TEST_MODELS is set, as by make");
    let mut found = Vec::new();
    // the packages that the models come from lie next to them
    let deps = PathBuf::from(folder).parent().expect("the folder of models lies in another").to_owned();
    models(&deps, &mut found);
    found
}

#[test]
fn real_models_pass() {
    let found = all_models();
    assert!(found.len() > 80, "only {} models", found.len());
    let mut failed = Vec::new();
    for path in &found {
        let bytes = std::fs::read(path).unwrap();
        // one of the test models is to be refused for its size
        let most = if path.ends_with("huge.tflite") { u64::MAX } else { MOST };
        let start = Instant::now();
        if let Err(error) = check(&bytes, most) {
            failed.push(format!("{}: {error}", path.display()));
        }
        println!("{:>9} bytes, {:>7.3} ms: {}", bytes.len(), start.elapsed().as_secs_f64() * 1e3, path.display());
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
