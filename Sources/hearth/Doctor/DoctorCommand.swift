import HearthJSONValues
import HearthServer
import HearthShell
import HearthSystem

extension Command {
    static let doctor = Command(
        name: "doctor", synopsis: "[OPTIONS]", summary: "Examine an installation, and say what to do.",
        json: #"{"state": "ok", "warning" or "failure", "finding", "advice"} for each finding."#,
        details: """
            Takes the options of 'hearth serve', best as --config FILE, and looks at what they name: the rules,
            the certificate, owners and modes of files, free space, how fast the disk syncs, limits, the age of
            the last backup, and the server, if one runs. --public-url looks through a proxy as clients do. Ends
            with 1 if something fails, and says after each finding what to do.
            """,
        options: serve.options.filter { $0.name != "check" } + [
            .init(name: "public-url", value: "URL", help: "what clients use, such as https://db.example.com"),
            .init(name: "ca", value: "FILE", help: "the authorities to trust over TLS, as PEM (default: the system's)"),
        ] + Arguments.Option.output
    ) { arguments throws(UsageError) in
        _ = try arguments.positional()
        let output = try ProgramOutput(arguments)
        let configuration = try ServerConfiguration(arguments)
        var doctor = Doctor(configuration, authorities: arguments["ca"])
        doctor.examineConfiguration()
        doctor.examineFolder()
        doctor.examineDisk()
        doctor.examineLimits()
        doctor.examineBackups(now: WallClock.milliseconds)
        doctor.examineServer()
        if let url = arguments["public-url"] {
            guard let address = DoctorProbe.Address(url) else {
                throw UsageError(message: "--public-url must be like https://db.example.com, not '\(url)'")
            }
            doctor.examinePublic(address)
        }
        output.show(doctor.findings.map { ($0.json, $0.text) })
        return doctor.hasFailed ? .failure : .success
    }
}
