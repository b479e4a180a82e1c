/// A self-signed certificate for localhost and 127.0.0.1 with its key, for tests alone. Valid from 2020 to 2119.
package enum FixedCertificate {
    package static let key = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEINztw2BzmOSStQ1thiJN0JLyQcEPi8px5pg/SlvkYEGQ
        -----END PRIVATE KEY-----

        """

    package static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBOjCB7aADAgECAgEBMAUGAytlcDAeMRwwGgYDVQQDDBNIZWFydGggY2xpZW50
        IHRlc3RzMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAeMRwwGgYD
        VQQDDBNIZWFydGggY2xpZW50IHRlc3RzMCowBQYDK2VwAyEA0iR5AyTNyEddd2wc
        2pPgc0fVz/1pX9kWKOTj8/PbAsajTjBMMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcE
        fwAAATAPBgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBTD8BYAHxQqa2pSMazkBOBC
        fqEtVzAFBgMrZXADQQB59UuSi2skFxUGgJw8h1b6Ng9ob9WPx0aubGS6nR7E4HO8
        NjYurog3kU2xF4JVF/t14O1NcIneDhqg8YZdn3wG
        -----END CERTIFICATE-----

        """
}
