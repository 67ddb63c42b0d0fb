package codes

// What the tests look into.
var ExportCodes = exportCodes
