package employees

import "time"

func hired(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 9, 0, 0, 0, time.UTC)
}

// invented are people whom there never were.
var invented = []Employee{
	{Name: "Ines Albrecht", Email: "ines.albrecht@example.org", Language: "de", Hired: hired(2019, time.March, 4)},
	{Name: "Tomasz Wilk", Email: "tomasz.wilk@example.org", Language: "pl", Hired: hired(2019, time.September, 2)},
	{Name: "Mairéad Quinn", Email: "mairead.quinn@example.org", Language: "en", Hired: hired(2020, time.January, 13)},
	{Name: "Léa Fontaine", Email: "lea.fontaine@example.org", Language: "fr", Hired: hired(2020, time.June, 1)},
	{Name: "森 由紀", Email: "yuki.mori@example.org", Language: "ja", Hired: hired(2021, time.April, 5)},
	{Name: "Rafael Souza", Email: "rafael.souza@example.org", Language: "pt-BR", Hired: hired(2021, time.October, 18)},
	{Name: "Oluwaseun Adeyemi", Email: "seun.adeyemi@example.org", Language: "en", Hired: hired(2022, time.February, 14)},
	{Name: "Jonas Weber", Email: "jonas.weber@example.org", Language: "de", Hired: hired(2023, time.May, 8)},
}
