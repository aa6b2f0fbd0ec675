"""The form of a survey of tables."""

from django import forms

from apps.clusters.control.survey_rows import LONGEST_DATABASE
from apps.clusters.forms import fields


class TablesForm(forms.Form):
    database = fields.text("Database", max_length=LONGEST_DATABASE, hint="one at a time; each has tables of its own")
