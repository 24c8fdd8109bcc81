//! The program in which `zb_model_preflight` tries models. All of it is in the library, so that both are of one version:
//! `src/preflight/`.

fn main() -> std::process::ExitCode {
    zerobind::preflight::helper_main()
}
