/// The version of Hearth. Scripts read it from this file.
package enum Version {
    package static let current = "0.2.0"
}
