//! The flags.

/// How a cell is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Published and consumed at once.
    Live,
    /// A corpus that was published before is consumed.
    Drain,
    /// An open loop at a rate.
    Offered,
}

/// One cell, as the flags name it. Each flag is written `-name=value`.
#[derive(Clone, Debug)]
pub struct Options {
    pub subject: String,
    pub method: Method,
    pub flow: String,
    pub payload: usize,
    pub consumers: usize,
    /// The corpus of each window of a drain, or all messages.
    pub messages: usize,
    /// Milliseconds that the windows of a drain take together. Zero is one window, however long it is.
    pub window: usize,
    pub codec: String,
    pub rate: u64,
    pub procs: usize,
}

impl Options {
    /// Reads the flags. A flag that is unknown, missing its value or out of range is an error that names it.
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Options {
            subject: String::new(),
            method: Method::Live,
            flow: "parallel".into(),
            payload: 64,
            consumers: 1,
            messages: 0,
            window: 0,
            codec: "json".into(),
            rate: 0,
            procs: 2,
        };
        for arg in args {
            let (name, value) = arg
                .trim_start_matches('-')
                .split_once('=')
                .ok_or_else(|| format!("{arg}: a flag is written -name=value"))?;
            let number = || {
                value
                    .parse::<usize>()
                    .map_err(|_| format!("-{name}={value}: not a whole number"))
            };
            match name {
                "subject" => options.subject = value.into(),
                "method" => options.method = method(value)?,
                "flow" => options.flow = value.into(),
                "payload" => options.payload = number()?,
                "consumers" => options.consumers = number()?,
                "messages" => options.messages = number()?,
                "window" => options.window = number()?,
                "codec" => options.codec = value.into(),
                "rate" => options.rate = number()? as u64,
                "procs" => options.procs = number()?,
                _ => return Err(format!("-{name}: no such flag")),
            }
        }
        for (name, value) in [
            ("messages", options.messages),
            ("consumers", options.consumers),
            ("procs", options.procs),
        ] {
            if value == 0 {
                return Err(format!("-{name}: must be at least 1"));
            }
        }
        if options.method == Method::Offered && options.rate == 0 {
            return Err("-rate: an offered load needs one".into());
        }
        Ok(options)
    }
}

fn method(value: &str) -> Result<Method, String> {
    match value {
        "live" => Ok(Method::Live),
        "drain" => Ok(Method::Drain),
        "offered" => Ok(Method::Offered),
        _ => Err(format!("-method={value}: one of live, drain, offered")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, String> {
        Options::parse(args.iter().map(|s| s.to_string()))
    }

    #[test]
    fn reads_what_is_given() {
        let o = parse(&["-method=drain", "-messages=7", "--consumers=2", "-window=5"]).unwrap();
        assert_eq!(
            (o.method, o.messages, o.consumers, o.window),
            (Method::Drain, 7, 2, 5)
        );
    }

    #[test]
    fn refuses_what_is_wrong() {
        for (args, flag) in [
            (vec!["-messages=x"], "-messages=x"),
            (vec!["-messages"], "-name=value"),
            (vec!["-sizes=1"], "-sizes"),
            (vec!["-messages=0"], "-messages"),
            (vec!["-messages=1", "-method=fast"], "-method=fast"),
            (vec!["-messages=1", "-method=offered"], "-rate"),
        ] {
            let wrong = parse(&args).unwrap_err();
            assert!(wrong.contains(flag), "{args:?}: {wrong}");
        }
    }
}
