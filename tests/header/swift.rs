//! The sets of numbers of the header as enums that Swift alone sees. In C they are plain `#define`s over integers, so that
//! no compiler chooses their width and a number of a later version is no surprise.

/// Prefix of the constants, names of the enum in C and in Swift, and what it is for.
const SETS: &[(&str, &str, &str, &str)] = &[
    ("ZB_ERROR_", "zb_swift_status", "ZBStatus", "Statuses"),
    ("ZB_RUNTIME_", "zb_swift_runtime", "ZBRuntime", "Engines"),
    ("ZB_DTYPE_", "zb_swift_dtype", "ZBDataType", "Element types"),
    ("ZB_COPY_", "zb_swift_copy_policy", "ZBCopyPolicy", "Copy policies"),
    ("ZB_QUANTIZATION_", "zb_swift_quantization", "ZBQuantization", "Kinds of quantization"),
    ("ZB_REBIND_", "zb_swift_rebind", "ZBRebind", "What a new address costs"),
    ("ZB_PATH_", "zb_swift_path", "ZBPath", "What a run did with the memory of a slot"),
    ("ZB_LOG_", "zb_swift_log_level", "ZBLogLevel", "Log levels"),
];

/// The constant of the statuses that has no prefix.
const OK: &str = "ZB_OK";

/// The enums for the constants that `header` defines.
pub fn enums(header: &str) -> String {
    let sets: Vec<_> = SETS.iter().map(|set| one(header, set)).collect();
    sets.join("\n")
}

fn one(header: &str, (prefix, c_name, swift_name, what): &(&str, &str, &str, &str)) -> String {
    let mut cases = String::new();
    for constant in constants(header) {
        let case = match constant.strip_prefix(prefix) {
            Some(case) => case,
            None if constant == OK && *swift_name == "ZBStatus" => "OK",
            None => continue,
        };
        let (c_case, case) = (case.to_lowercase(), camel(case));
        cases.push_str(&format!("    {c_name}_{c_case} ZB_SWIFT_NAME({case}) = {constant},\n"));
    }
    assert!(!cases.is_empty(), "no constant begins with {prefix}");
    let cases = cases.trim_end_matches(",\n");
    format!("/* {what}. */\nenum ZB_SWIFT_OPEN_ENUM({swift_name}) {c_name} : int32_t {{\n{cases}\n}};\n")
}

/// The names of what is defined as a plain number.
fn constants(header: &str) -> impl Iterator<Item = &str> {
    header.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("#define ")?.split_once(' ')?;
        value.parse::<u32>().is_ok().then_some(name)
    })
}

/// `BUFFER_TOO_SMALL` as Swift writes it: `bufferTooSmall`.
fn camel(name: &str) -> String {
    let mut words = name.split('_').map(str::to_lowercase);
    let mut out = words.next().unwrap_or_default();
    for word in words {
        out.push_str(&word[..1].to_uppercase());
        out.push_str(&word[1..]);
    }
    out
}

#[test]
fn enums_have_every_constant() {
    let header =
        "#define ZB_OK 0\n#define ZB_ERROR_NULL_ARGUMENT 1\n#define ZB_ERROR_X(y) y\n#define ZB_COPY_NEVER 0\n";
    let set = one(header, &SETS[0]);
    assert!(set.contains("enum ZB_SWIFT_OPEN_ENUM(ZBStatus) zb_swift_status : int32_t {"), "{set}");
    assert!(set.contains("zb_swift_status_ok ZB_SWIFT_NAME(ok) = ZB_OK,"), "{set}");
    assert!(
        set.contains("zb_swift_status_null_argument ZB_SWIFT_NAME(nullArgument) = ZB_ERROR_NULL_ARGUMENT\n"),
        "{set}"
    );
    assert!(!set.contains("COPY") && !set.contains("ERROR_X"), "{set}");
}
